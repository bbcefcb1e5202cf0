//! The messages that a model receives instead of a tool's output: for failures, rejections, and
//! tools that do not exist.

use std::borrow::Cow;

use super::{
    config::{RunConfig, ToolErrorMessage, ToolErrorMessageKind},
    guard,
    host::ToolEffectError,
};
use crate::{
    engine::RunError,
    tool::{
        CallInfo, OUTCOME_UNKNOWN, OnToolError, OutputTooLarge, Redaction, TOOL_FAILED, ToolBinding, ToolDef,
        ToolError, ToolErrorKind, ToolFailure, ToolFailureKind,
        schema::{InvalidArguments, Issue},
        truncated,
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

/// A failed tool call.
pub(super) enum CallFailureCause {
    /// The arguments do not match the tool's schema.
    Arguments(InvalidArguments),
    /// The tool failed with this message for the model.
    Told(String),
    /// The tool failed with this error message.
    Failed(String),
    /// The tool failed with this error message, and ends the run.
    FailsRun(String),
    /// The tool panicked with this message.
    Panicked(String),
    /// No attempt ended in time; the message for the model.
    TimedOut(String),
    /// The call may have taken effect.
    OutcomeUnknown,
    /// The arguments or the output exceed the size limit.
    Oversized {
        /// The tool, its arguments or output, their size, and the limit.
        message: String,
        /// `true` if the body ran: the output is too large, not the arguments.
        has_run: bool,
    },
    /// No worker has the tool, or the resource that it uses does not exist. The run ends with this
    /// error, unless the run or the tool has a message for the model.
    NotRegistered(RunError),
    /// The nested run of an agent failed with this error.
    Agent(RunError),
    /// The run of an agent in another workflow failed with this error message.
    FarAgent(String),
    /// The session with a stateful MCP server was lost. The run ends with this error, unless the
    /// run or the tool has a message for the model.
    SessionLost(RunError),
}

impl CallFailureCause {
    /// Converts the error of an inline tool.
    pub(super) fn inline(error: &ToolError) -> Self {
        match error.kind() {
            ToolErrorKind::TellModel => Self::Told(error.message().to_owned()),
            ToolErrorKind::FailRun => Self::FailsRun(error.message().to_owned()),
            ToolErrorKind::Failed | ToolErrorKind::Transient => Self::Failed(error.message().to_owned()),
        }
    }

    /// Applies the tool's redaction to the messages that its body returned.
    pub(super) fn redacted(self, redaction: &Redaction) -> Self {
        match self {
            Self::Told(text) => Self::Told(redaction.text(&text)),
            Self::Failed(text) => Self::Failed(redaction.text(&text)),
            Self::FailsRun(text) => Self::FailsRun(redaction.text(&text)),
            Self::Panicked(text) => Self::Panicked(redaction.text(&text)),
            other => other,
        }
    }

    /// Returns the error message of the failure.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Arguments(invalid) => invalid.to_string(),
            Self::Told(text)
            | Self::Failed(text)
            | Self::FailsRun(text)
            | Self::Panicked(text)
            | Self::TimedOut(text)
            | Self::FarAgent(text) => text.clone(),
            Self::OutcomeUnknown => OUTCOME_UNKNOWN.to_owned(),
            Self::Oversized { message, .. } => message.clone(),
            Self::NotRegistered(error) | Self::SessionLost(error) => error.to_string(),
            Self::Agent(error) => error.reference().message,
        }
    }

    /// Returns the kind of the failure and its error message; for invalid arguments, the message
    /// lists each field.
    pub(super) fn kind_and_message(&self) -> (ToolFailureKind, String) {
        let message = match self {
            Self::Arguments(invalid) => explained(invalid),
            other => other.message(),
        };
        (self.kind(), message)
    }

    fn kind(&self) -> ToolFailureKind {
        match self {
            Self::Arguments(_) => ToolFailureKind::Arguments,
            Self::Told(_) => ToolFailureKind::Told,
            Self::Failed(_) | Self::FailsRun(_) => ToolFailureKind::Failed,
            Self::Panicked(_) => ToolFailureKind::Panicked,
            Self::TimedOut(_) => ToolFailureKind::TimedOut,
            Self::OutcomeUnknown => ToolFailureKind::OutcomeUnknown,
            Self::Oversized { .. } => ToolFailureKind::Oversized,
            Self::NotRegistered(_) => ToolFailureKind::NotRegistered,
            Self::Agent(_) | Self::FarAgent(_) => ToolFailureKind::Agent,
            Self::SessionLost(_) => ToolFailureKind::SessionLost,
        }
    }

    fn issues(&self) -> &[Issue] {
        match self {
            Self::Arguments(invalid) => &invalid.issues,
            _ => &[],
        }
    }
}

impl From<OutputTooLarge> for CallFailureCause {
    fn from(too_large: OutputTooLarge) -> Self {
        Self::Oversized { message: too_large.to_string(), has_run: true }
    }
}

/// Converts an error of the host to a failure of the call, or to the error that ends the run.
pub(super) fn from_effect_error(info: &CallInfo, error: ToolEffectError) -> Result<CallFailureCause, RunError> {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match error {
        // The worker of an MCP server whose call was interrupted reports the unknown outcome with
        // this text.
        ToolEffectError::Failed { tell_model: Some(text), .. } if text == OUTCOME_UNKNOWN => {
            Ok(CallFailureCause::OutcomeUnknown)
        }
        ToolEffectError::Failed { tell_model: Some(text), .. } => Ok(CallFailureCause::Told(text)),
        ToolEffectError::Failed { tell_model: None, message, .. } => Ok(CallFailureCause::Failed(message)),
        ToolEffectError::FailsRun { message, .. } => Ok(CallFailureCause::FailsRun(message)),
        ToolEffectError::Panicked { message, .. } => Ok(CallFailureCause::Panicked(message)),
        ToolEffectError::Oversized { message, .. } => Ok(CallFailureCause::Oversized { message, has_run: true }),
        ToolEffectError::TimedOut { after, .. } => {
            Ok(CallFailureCause::TimedOut(format!("Tool '{tool}' timed out after {} seconds.", after.as_secs_f64())))
        }
        ToolEffectError::OutcomeUnknown { .. } => Ok(CallFailureCause::OutcomeUnknown),
        ToolEffectError::Agent { message, .. } => Ok(CallFailureCause::FarAgent(message)),
        ToolEffectError::NotRegistered { task_queue, tried_for, source } => {
            Ok(CallFailureCause::NotRegistered(RunError::ToolNotRegistered {
                tool,
                agent,
                task_queue,
                tried_for,
                source,
            }))
        }
        ToolEffectError::Absent(source) => {
            Ok(CallFailureCause::NotRegistered(RunError::Tool { tool, agent, turn, source }))
        }
        // If the server's terms allow it, the caller has already opened another session and
        // retried.
        ToolEffectError::SessionLost { source, .. } => {
            Ok(CallFailureCause::SessionLost(RunError::Tool { tool, agent, turn, source }))
        }
        ToolEffectError::Cancelled => Err(RunError::Cancelled { agent, turn }),
        ToolEffectError::Host(source) => Err(RunError::Tool { tool, agent, turn, source }),
    }
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
    wrong: CallFailureCause,
) -> Result<ToolOutput, RunError> {
    let function = || format!("the error function of tool {:?}", info.tool);
    if matches!(wrong, CallFailureCause::FailsRun(_)) {
        return Err(ends_the_run(info, wrong));
    }
    let rule = match tool.on_error_rule() {
        OnToolError::Standard => &config.on_tool_error,
        own => own,
    };
    if let OnToolError::ByKind(describe) = rule {
        let error = wrong.message();
        let failure = ToolFailure::new(info, &error).of_kind(wrong.kind(), wrong.issues());
        if let Some(text) = guard::call(function, &info.agent, || describe(&failure))? {
            return Ok(text.into());
        }
    }
    let text = match (rule, wrong) {
        (_, CallFailureCause::NotRegistered(error) | CallFailureCause::SessionLost(error)) => return Err(error),
        (OnToolError::FailRun, wrong) => return Err(ends_the_run(info, wrong)),
        (_, CallFailureCause::Told(text) | CallFailureCause::TimedOut(text)) => text,
        (_, CallFailureCause::OutcomeUnknown) => OUTCOME_UNKNOWN.to_owned(),
        (OnToolError::Tell(describe), wrong) => {
            let error = wrong.message();
            let failure = ToolFailure::new(info, &error).of_kind(wrong.kind(), wrong.issues());
            guard::call(function, &info.agent, || describe(&failure))?
        }
        (_, CallFailureCause::Oversized { message, has_run }) => {
            let advice = if has_run && !may_run_again(tool) { OUTPUT_LOST } else { RETRY_WITH_LESS };
            let text = format!("{message}. {advice}");
            formatted(config, info, ToolErrorMessageKind::ToolException, &text, Some(&message))?
        }
        // The body was interrupted, and the tool must not run twice.
        (OnToolError::Standard | OnToolError::ByKind(_), CallFailureCause::Panicked(_)) if !may_run_again(tool) => {
            OUTCOME_UNKNOWN.to_owned()
        }
        // The run's formatter applies only to failures without a fixed message; the failure of an
        // agent has one.
        (OnToolError::Standard | OnToolError::ByKind(_), _)
            if matches!(tool.binding(), ToolBinding::Agent(_) | ToolBinding::ChildAgent(_)) =>
        {
            TOOL_FAILED.to_owned()
        }
        (OnToolError::Standard | OnToolError::ByKind(_), wrong) => {
            let error = wrong.message();
            formatted(config, info, ToolErrorMessageKind::ToolException, TOOL_FAILED, Some(&error))?
        }
    };
    Ok(text.into())
}

fn may_run_again(tool: &ToolDef) -> bool {
    match tool.binding() {
        ToolBinding::Activity { options, .. } => options.idempotent,
        ToolBinding::RemoteActivity(remote) => remote.idempotent,
        ToolBinding::Mcp(binding) => binding.options().idempotent,
        // The author declares nothing about a second start of the workflow.
        ToolBinding::ChildWorkflow(_) => false,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(operation) => operation.idempotent,
        _ => true,
    }
}

fn ends_the_run(info: &CallInfo, wrong: CallFailureCause) -> RunError {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match wrong {
        CallFailureCause::Arguments(invalid) => {
            let message = truncated_reason(&explained(&invalid)).into_owned();
            RunError::ModelBehavior { agent, turn, message }
        }
        CallFailureCause::Agent(error) if error.reference().class.is_some() => error,
        wrong => RunError::ToolFailed { agent, turn, tool, source: truncated_reason(&wrong.message()).into() },
    }
}

/// Returns a reason as it is logged or as a run fails with it; a long one is truncated.
pub(super) fn truncated_reason(reason: &str) -> Cow<'_, str> {
    if reason.len() <= MAX_REASON_BYTES {
        return reason.into();
    }
    truncated(reason.into(), MAX_REASON_BYTES).to_text().into()
}

/// Returns a description of invalid arguments, field by field, without the arguments themselves.
pub(super) fn explained(invalid: &InvalidArguments) -> String {
    let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
    if issues.is_empty() { invalid.to_string() } else { format!("{invalid}: {}", issues.join("; ")) }
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
