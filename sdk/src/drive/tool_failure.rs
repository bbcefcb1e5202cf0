//! What a model gets instead of a tool's output: for failures, rejections, and tools that are not there.

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

/// Most bytes of a reason that is logged, or that a run fails with.
const MOST_OF_A_REASON: usize = 10_000;

/// What a model gets for a call that was rejected without a word.
const NOT_APPROVED: &str = "Tool execution was not approved.";

/// What a model is told to do about arguments or an output that are too large.
const ASK_FOR_LESS: &str = "Try again with less.";

/// The same for a tool that must not run twice.
const RAN_ONCE: &str = "The call has taken effect, and its output is lost. Do not repeat it.";

/// A call that went wrong.
pub(super) enum WentWrong {
    /// The arguments do not fit.
    Arguments(InvalidArguments),
    /// The tool says what the model is told.
    Told(String),
    /// The tool failed like this.
    Failed(String),
    /// The tool failed like this, and says that the run ends.
    FailsRun(String),
    /// The tool panicked like this.
    Panicked(String),
    /// No attempt ended in time; what the model is told of it.
    TimedOut(String),
    /// It may have taken effect.
    OutcomeUnknown,
    /// Arguments or output are too large.
    Oversized {
        /// Which, of which tool, how large, and the limit.
        message: String,
        /// Whether the body has run.
        has_run: bool,
    },
    /// No worker knows the tool, or what it stands for is not there; how the run ends, unless the model is told.
    NotRegistered(RunError),
    /// The agent behind it failed.
    Agent(RunError),
    /// The agent behind it failed like this, elsewhere.
    FarAgent(String),
    /// The session with a stateful MCP server is gone; how the run ends, unless the model is told.
    SessionLost(RunError),
}

impl WentWrong {
    /// A failure of an inline tool.
    pub(super) fn inline(error: &ToolError) -> Self {
        match error.kind() {
            ToolErrorKind::TellModel => Self::Told(error.message().to_owned()),
            ToolErrorKind::FailRun => Self::FailsRun(error.message().to_owned()),
            ToolErrorKind::Failed | ToolErrorKind::Transient => Self::Failed(error.message().to_owned()),
        }
    }

    /// The same, without what the tool takes out of what its body says.
    pub(super) fn redacted(self, redaction: &Redaction) -> Self {
        match self {
            Self::Told(text) => Self::Told(redaction.text(&text)),
            Self::Failed(text) => Self::Failed(redaction.text(&text)),
            Self::FailsRun(text) => Self::FailsRun(redaction.text(&text)),
            Self::Panicked(text) => Self::Panicked(redaction.text(&text)),
            other => other,
        }
    }

    /// What went wrong, in words.
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

    /// In what way, and what in words, those about arguments field by field.
    pub(super) fn told_to_authors(&self) -> (ToolFailureKind, String) {
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

impl From<OutputTooLarge> for WentWrong {
    fn from(too_large: OutputTooLarge) -> Self {
        Self::Oversized { message: too_large.to_string(), has_run: true }
    }
}

/// What a failed call through the host comes to: something for the model, or the end of the run.
pub(super) fn of_effect(info: &CallInfo, error: ToolEffectError) -> Result<WentWrong, RunError> {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match error {
        // The worker of an MCP server that was lost says it in these words.
        ToolEffectError::Failed { tell_model: Some(text), .. } if text == OUTCOME_UNKNOWN => {
            Ok(WentWrong::OutcomeUnknown)
        }
        ToolEffectError::Failed { tell_model: Some(text), .. } => Ok(WentWrong::Told(text)),
        ToolEffectError::Failed { tell_model: None, message, .. } => Ok(WentWrong::Failed(message)),
        ToolEffectError::FailsRun { message, .. } => Ok(WentWrong::FailsRun(message)),
        ToolEffectError::Panicked { message, .. } => Ok(WentWrong::Panicked(message)),
        ToolEffectError::Oversized { message, .. } => Ok(WentWrong::Oversized { message, has_run: true }),
        ToolEffectError::TimedOut { after, .. } => {
            Ok(WentWrong::TimedOut(format!("Tool '{tool}' timed out after {} seconds.", after.as_secs_f64())))
        }
        ToolEffectError::OutcomeUnknown { .. } => Ok(WentWrong::OutcomeUnknown),
        ToolEffectError::Agent { message, .. } => Ok(WentWrong::FarAgent(message)),
        ToolEffectError::NotRegistered { task_queue, tried_for, source } => {
            Ok(WentWrong::NotRegistered(RunError::ToolNotRegistered { tool, agent, task_queue, tried_for, source }))
        }
        ToolEffectError::Absent(source) => Ok(WentWrong::NotRegistered(RunError::Tool { tool, agent, turn, source })),
        // The call has seen to a session that was to be opened again.
        ToolEffectError::SessionLost { source, .. } => {
            Ok(WentWrong::SessionLost(RunError::Tool { tool, agent, turn, source }))
        }
        ToolEffectError::Cancelled => Err(RunError::Cancelled { agent, turn }),
        ToolEffectError::Host(source) => Err(RunError::Tool { tool, agent, turn, source }),
    }
}

/// What a call that went wrong comes to, after the tool's own rule, or else the run's.
///
/// # Errors
/// [`RunError`] when its failures end the run.
pub(super) fn settle(
    config: &RunConfig,
    tool: &ToolDef,
    info: &CallInfo,
    wrong: WentWrong,
) -> Result<ToolOutput, RunError> {
    let function = || format!("the error function of tool {:?}", info.tool);
    if matches!(wrong, WentWrong::FailsRun(_)) {
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
        (_, WentWrong::NotRegistered(error) | WentWrong::SessionLost(error)) => return Err(error),
        (OnToolError::FailRun, wrong) => return Err(ends_the_run(info, wrong)),
        (_, WentWrong::Told(text) | WentWrong::TimedOut(text)) => text,
        (_, WentWrong::OutcomeUnknown) => OUTCOME_UNKNOWN.to_owned(),
        (OnToolError::Tell(describe), wrong) => {
            let error = wrong.message();
            let failure = ToolFailure::new(info, &error).of_kind(wrong.kind(), wrong.issues());
            guard::call(function, &info.agent, || describe(&failure))?
        }
        (_, WentWrong::Oversized { message, has_run }) => {
            let advice = if has_run && !may_run_again(tool) { RAN_ONCE } else { ASK_FOR_LESS };
            let text = format!("{message}. {advice}");
            formatted(config, info, ToolErrorMessageKind::ToolException, &text, Some(&message))?
        }
        // It broke off in the middle of what must not be done twice.
        (OnToolError::Standard | OnToolError::ByKind(_), WentWrong::Panicked(_)) if !may_run_again(tool) => {
            OUTCOME_UNKNOWN.to_owned()
        }
        // The run's formatter words only what nobody has worded: an agent's failure has its fixed text.
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
        // Nobody has said what it does to be started again.
        ToolBinding::ChildWorkflow(_) => false,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(operation) => operation.idempotent,
        _ => true,
    }
}

fn ends_the_run(info: &CallInfo, wrong: WentWrong) -> RunError {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match wrong {
        WentWrong::Arguments(invalid) => {
            let message = in_short(&explained(&invalid)).into_owned();
            RunError::ModelBehavior { agent, turn, message }
        }
        WentWrong::Agent(error) if error.reference().class.is_some() => error,
        wrong => RunError::ToolFailed { agent, turn, tool, source: in_short(&wrong.message()).into() },
    }
}

/// A reason as it is logged, or as a run fails with it: its end is cut off where it is long.
pub(super) fn in_short(reason: &str) -> Cow<'_, str> {
    if reason.len() <= MOST_OF_A_REASON {
        return reason.into();
    }
    truncated(reason.into(), MOST_OF_A_REASON).to_text().into()
}

/// What is wrong with arguments, field by field, without the arguments themselves.
pub(super) fn explained(invalid: &InvalidArguments) -> String {
    let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
    if issues.is_empty() { invalid.to_string() } else { format!("{invalid}: {}", issues.join("; ")) }
}

/// What the model gets for a rejected call.
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

/// What the model gets for a tool that is not there.
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
