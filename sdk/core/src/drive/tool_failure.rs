//! The messages that a model receives instead of a tool's output: for failures, rejections, and
//! tools that do not exist.

use std::borrow::Cow;

use super::{
    config::{RunConfig, ToolErrorMessage, ToolErrorMessageKind},
    guard,
    host::ToolEffectError,
};
use crate::{
    engine::{RefusedArguments, RunError},
    tool::{
        CallInfo, OUTCOME_UNKNOWN, OnToolError, PriorArguments, Redaction, TOOL_FAILED, ToolBinding, ToolDef,
        ToolFailure, ToolFailureKind, truncated,
    },
    wire::{ToolOutput, run_state::Decision},
};

/// Maximum size, in bytes, of a reason that is logged or that a run fails with.
const MAX_REASON_BYTES: usize = 10_000;

/// The message for a call that was rejected without a message.
const NOT_APPROVED: &str = "Tool execution was not approved.";

/// The advice to a model whose arguments or output are too large.
const RETRY_WITH_LESS: &str = "Try again with less.";

/// The advice to a model whose output is too large, for a tool that must not run twice.
const OUTPUT_LOST: &str = "The call has taken effect, and its output is lost. Do not repeat it.";

/// A failed tool call, and its consequences besides the message for the model.
pub(super) struct FailedCall {
    pub(super) failure: ToolFailure,
    /// The error with which the run ends, if this failure ends it. Without one it is
    /// [`RunError::ToolFailed`].
    error: Option<RunError>,
    /// `true` if the arguments are the cause: the body has not run.
    has_not_run: bool,
}

impl FailedCall {
    /// Creates a failure because of the arguments of the call.
    pub(super) fn of_arguments(failure: ToolFailure) -> Self {
        Self { has_not_run: true, ..failure.into() }
    }

    /// Creates the failure of the nested run of an agent.
    pub(super) fn of_agent(error: RunError) -> Self {
        let reference = error.reference();
        let failure = ToolFailure::new(ToolFailureKind::Agent, reference.message);
        Self { error: reference.class.is_some().then_some(error), ..failure.into() }
    }

    /// Creates a failure with which the run ends, unless a rule returns a message for the model.
    fn ending(kind: ToolFailureKind, error: RunError) -> Self {
        let failure = ToolFailure::new(kind, error.to_string());
        Self { error: Some(error), ..failure.into() }
    }

    /// Adds the arguments of the call, for rules.
    pub(super) fn of_call(mut self, arguments: &str) -> Self {
        self.failure.arguments = PriorArguments::of(arguments);
        self
    }

    /// Applies the tool's redaction to the messages that its body returned.
    pub(super) fn redacted(self, redaction: &Redaction) -> Self {
        Self { failure: self.failure.redacted(redaction), ..self }
    }
}

impl From<ToolFailure> for FailedCall {
    fn from(failure: ToolFailure) -> Self {
        Self { failure, error: None, has_not_run: false }
    }
}

/// Converts an error of the host to a failure of the call, or to the error that ends the run.
pub(super) fn from_effect_error(info: &CallInfo, error: ToolEffectError) -> Result<FailedCall, RunError> {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match error {
        ToolEffectError::Failed { failure, usage: _, source: _ } => Ok(with_fixed_message(info, *failure).into()),
        ToolEffectError::NotRegistered { task_queue, tried_for, source } => {
            let error = RunError::ToolNotRegistered { tool, agent, task_queue, tried_for, source };
            Ok(FailedCall::ending(ToolFailureKind::NotRegistered, error))
        }
        ToolEffectError::Absent(source) => {
            Ok(FailedCall::ending(ToolFailureKind::NotRegistered, RunError::Tool { tool, agent, turn, source }))
        }
        // If the server's terms allow it, the caller has already opened another session and
        // retried.
        ToolEffectError::SessionLost { source, .. } => {
            Ok(FailedCall::ending(ToolFailureKind::SessionLost, RunError::Tool { tool, agent, turn, source }))
        }
        ToolEffectError::Cancelled => Err(RunError::Cancelled { agent, turn }),
        ToolEffectError::Host(source) => Err(RunError::Tool { tool, agent, turn, source }),
    }
}

/// Sets the fixed message of the kinds that have one, for the model and for rules: neither receives
/// a string that a host or a server wrote.
fn with_fixed_message(info: &CallInfo, mut failure: ToolFailure) -> ToolFailure {
    // The worker of an MCP server whose call was interrupted reports the unknown outcome with this
    // message.
    if failure.tell_model.as_deref() == Some(OUTCOME_UNKNOWN) {
        failure.kind = ToolFailureKind::OutcomeUnknown;
    }
    let message = match (failure.kind, failure.time_limit) {
        (ToolFailureKind::OutcomeUnknown, _) => OUTCOME_UNKNOWN.to_owned(),
        (ToolFailureKind::TimedOut, Some(limit)) => ToolFailure::timed_out_message(&info.tool, limit),
        _ => return failure,
    };
    failure.message.clone_from(&message);
    failure.tell_model = Some(message);
    failure
}

/// Returns the message for the model after a failed call, by the tool's own rule, or otherwise by
/// the run's.
///
/// # Errors
/// [`RunError`] if the rule is that failures of the tool end the run.
pub(super) fn settle(
    config: &RunConfig,
    tool: &ToolDef,
    info: &CallInfo,
    failed: FailedCall,
) -> Result<ToolOutput, RunError> {
    let function = || format!("the error function of tool {:?}", info.tool);
    let failure = &failed.failure;
    if failure.kind == ToolFailureKind::FailsRun {
        return Err(ends_the_run(info, failed));
    }
    let rule = rule_of(config, tool);
    if let OnToolError::ByKind(describe) = rule
        && let Some(text) = guard::call(function, &info.agent, || describe(info, failure))?
    {
        return Ok(text.into());
    }
    let ends = matches!(failure.kind, ToolFailureKind::NotRegistered | ToolFailureKind::SessionLost);
    if ends || matches!(rule, OnToolError::FailRun) {
        return Err(ends_the_run(info, failed));
    }
    if failure.tell_model.is_some() {
        return Ok(failure.issues_message().into());
    }
    if let OnToolError::Tell(describe) = rule {
        return guard::call(function, &info.agent, || describe(info, failure)).map(ToolOutput::Text);
    }
    let message = &failure.message;
    // The run's formatter applies only to failures without a fixed message; the failure of an agent
    // has one.
    let is_agent = matches!(tool.binding(), ToolBinding::Agent(_) | ToolBinding::ChildAgent(_));
    let text = match failure.kind {
        ToolFailureKind::Arguments if !failure.issues.is_empty() => {
            let text = truncated_reason(&failure.to_string()).into_owned();
            if is_agent {
                text
            } else {
                formatted(config, info, ToolErrorMessageKind::ToolException, &text, Some(message))?
            }
        }
        ToolFailureKind::Oversized => {
            let advice = if failed.has_not_run || may_run_again(tool) { RETRY_WITH_LESS } else { OUTPUT_LOST };
            let text = format!("{message}. {advice}");
            formatted(config, info, ToolErrorMessageKind::ToolException, &text, Some(message))?
        }
        // The body was interrupted, and the tool must not run twice.
        ToolFailureKind::Panicked if !may_run_again(tool) => OUTCOME_UNKNOWN.to_owned(),
        _ if is_agent => TOOL_FAILED.to_owned(),
        _ => formatted(config, info, ToolErrorMessageKind::ToolException, TOOL_FAILED, Some(message))?,
    };
    Ok(text.into())
}

/// Returns `true` if any failure of the tool ends the run.
pub(super) fn fails_run(config: &RunConfig, tool: &ToolDef) -> bool {
    matches!(rule_of(config, tool), OnToolError::FailRun)
}

/// Returns the rule for failures of the tool: its own, or that of the run.
fn rule_of<'r>(config: &'r RunConfig, tool: &'r ToolDef) -> &'r OnToolError {
    match tool.on_error_rule() {
        OnToolError::Standard => &config.on_tool_error,
        own => own,
    }
}

fn may_run_again(tool: &ToolDef) -> bool {
    match tool.binding() {
        ToolBinding::Activity { options, .. } => options.idempotent,
        ToolBinding::RemoteActivity(remote) => remote.idempotent,
        ToolBinding::Mcp(binding) => binding.options().idempotent,
        ToolBinding::Remote(binding) => binding.is_idempotent(),
        // The author declares nothing about a second start of the workflow.
        ToolBinding::ChildWorkflow(_) => false,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(operation) => operation.idempotent,
        ToolBinding::Inline(_)
        | ToolBinding::Workflow(_)
        | ToolBinding::Agent(_)
        | ToolBinding::Client
        | ToolBinding::ChildAgent(_) => true,
    }
}

fn ends_the_run(info: &CallInfo, failed: FailedCall) -> RunError {
    let FailedCall { failure, error, has_not_run: _ } = failed;
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    let reason = failure.to_string();
    let reason = truncated_reason(&reason);
    match (error, failure.kind) {
        (Some(error), _) => error,
        (None, ToolFailureKind::Arguments) => RunError::ModelBehavior { agent, turn, message: reason.into_owned() },
        (None, _) => RunError::ToolFailed { agent, turn, tool, source: reason.into() },
    }
}

/// Returns the refusal of a call's arguments, if this is such a failure.
pub(super) fn refused_arguments(failure: &ToolFailure) -> Option<Box<RefusedArguments>> {
    if failure.kind != ToolFailureKind::Arguments {
        return None;
    }
    let field = failure.issues.first().map(|issue| issue.field.clone()).unwrap_or_default();
    let reason = truncated_reason(&failure.to_string()).into_owned();
    Some(Box::new(RefusedArguments { field, reason }))
}

/// Returns a reason as it is logged or as a run fails with it; a long one is truncated.
pub(super) fn truncated_reason(reason: &str) -> Cow<'_, str> {
    if reason.len() <= MAX_REASON_BYTES {
        return reason.into();
    }
    truncated(reason.into(), MAX_REASON_BYTES).to_text().into()
}

/// Returns the output for a rejected call.
///
/// # Errors
/// [`RunError::Panicked`] of the run's formatter.
pub(super) fn rejected(config: &RunConfig, info: &CallInfo, decision: &Decision) -> Result<ToolOutput, RunError> {
    let text = match &decision.message {
        Some(message) => message.clone(),
        None => formatted(config, info, ToolErrorMessageKind::ApprovalRejected, NOT_APPROVED, None)?,
    };
    Ok(text.into())
}

/// Returns the output for a tool that does not exist.
///
/// # Errors
/// [`RunError::Panicked`] of the run's formatter.
pub(super) fn not_found(config: &RunConfig, info: &CallInfo) -> Result<ToolOutput, RunError> {
    let text = format!("Tool '{}' not found.", info.tool);
    formatted(config, info, ToolErrorMessageKind::ToolNotFound, &text, None).map(ToolOutput::Text)
}

fn formatted(
    config: &RunConfig,
    info: &CallInfo,
    kind: ToolErrorMessageKind,
    default_message: &str,
    error: Option<&str>,
) -> Result<String, RunError> {
    let Some(formatter) = &config.tool_error_formatter else { return Ok(default_message.to_owned()) };
    let message = ToolErrorMessage { kind, tool: &info.tool, call_id: &info.call_id, default_message, error };
    let text = guard::call(|| "the tool_error_formatter".to_owned(), &info.agent, || formatter.format(&message))?;
    Ok(text.unwrap_or_else(|| default_message.to_owned()))
}
