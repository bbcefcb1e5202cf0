//! Processing of the result of a tool's body before anything of it leaves the worker: redacted,
//! measured, spilled.

use std::any::Any;

use serde_json::Value;

use crate::{
    secret::worker_env::Given,
    store::{OptionalSpillStore, SpilledOutput},
};
use crate::{
    tool::{
        CallInfo, MAX_FAILURE_BYTES, OutputTooLarge, OversizedOutput, Redaction, ToolDef, ToolError, beginning,
        truncated,
    },
    wire::{
        ToolOutput,
        size::{Bytes, MOST_BYTES, encoded_len},
    },
};

/// Maximum size of the preview of a spilled output, in bytes.
const MAX_PREVIEW_BYTES: usize = 2_000;

/// The reason that a body has no output. It contains nothing that the tool redacts.
pub(crate) enum BodyFailure {
    /// The body returned an error.
    Failed(ToolError),
    /// The body panicked, with this message.
    Panicked(String),
    /// The output, or the change to the run context, is too large.
    TooLarge(String),
}

/// The result of a body: its output or error, or the message of its panic, and its change to the
/// run context.
pub(crate) struct Returned {
    pub(crate) settled: Result<Result<ToolOutput, ToolError>, String>,
    pub(crate) patch: Option<Value>,
}

impl Returned {
    /// Removes from the result everything that must not be recorded.
    pub(crate) fn redacted(self, redaction: &Redaction) -> Self {
        let settled = match self.settled {
            Ok(Ok(output)) => Ok(Ok(redaction.output(output))),
            Ok(Err(error)) => Ok(Err(redaction.error(&error))),
            Err(panic) => Err(redaction.text(&panic)),
        };
        Self { settled, patch: self.patch.map(|patch| redaction.value(patch)) }
    }
}

/// Returns the output and the change to the run context; neither contains a secret that the body
/// received.
///
/// # Errors
/// [`BodyFailure`].
pub(crate) async fn answer(
    tool: &ToolDef,
    spills: &OptionalSpillStore,
    info: &CallInfo,
    returned: Returned,
    given: &Given,
) -> Result<(ToolOutput, Option<Value>), BodyFailure> {
    let returned = if given.is_empty() { returned } else { returned.redacted(&given.redaction()) };
    let Returned { settled, patch } = match tool.redaction() {
        None => returned,
        Some(redaction) => returned.redacted(redaction),
    };
    let output = match settled {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(BodyFailure::Failed(cut_error(tool, error))),
        Err(panic) => return Err(BodyFailure::Panicked(cut(tool, panic))),
    };
    let output = fitted(tool, spills, info, output).await?;
    check_patch(tool, &output, patch.as_ref())?;
    Ok((output, patch))
}

fn cut_error(tool: &ToolDef, error: ToolError) -> ToolError {
    if error.message().len() <= MAX_FAILURE_BYTES.min(tool.output_limit().bytes) {
        return error;
    }
    error.with_message(cut(tool, error.message().to_owned()))
}

/// Returns the message of a failure, cut off at the end if it is longer than the tool's output may
/// be.
fn cut(tool: &ToolDef, text: String) -> String {
    let limit = MAX_FAILURE_BYTES.min(tool.output_limit().bytes);
    if text.len() <= limit { text } else { truncated(text.into(), limit).to_text() }
}

async fn fitted(
    tool: &ToolDef,
    spills: &OptionalSpillStore,
    info: &CallInfo,
    output: ToolOutput,
) -> Result<ToolOutput, BodyFailure> {
    let limit = tool.output_limit();
    let too_large = match (limit.exceeded_by(tool.name(), &output), limit.above) {
        (None, _) => return Ok(output),
        (Some(too_large), OversizedOutput::Spill) => too_large,
        (Some(_), _) => {
            return limit.fit(tool.name(), output).map_err(|too_large| BodyFailure::TooLarge(too_large.to_string()));
        }
    };
    let Some(store) = &spills.0 else {
        let fix = "and there is nowhere to spill it; add .spill_store(..) to the worker's AgentsPlugin";
        return Err(BodyFailure::TooLarge(format!("{too_large}, {fix}")));
    };
    let content = output.to_text();
    match store.spill(SpilledOutput { call: info, content: &content }).await {
        Ok(reference) => Ok(spilled(&reference, &content, limit.bytes)),
        Err(error) => Err(BodyFailure::TooLarge(spill_error_message(&too_large, tool, &error.to_string()))),
    }
}

fn spill_error_message(too_large: &OutputTooLarge, tool: &ToolDef, error: &str) -> String {
    // A store may quote the content that it received.
    let error = tool.redaction().map_or_else(|| error.to_owned(), |redaction| redaction.text(error));
    format!("{too_large}, and it could not be spilled: {error}")
}

/// Returns the output that the model receives in place of one that is stored elsewhere.
fn spilled(reference: &str, content: &str, limit: usize) -> ToolOutput {
    let preview = beginning(content, MAX_PREVIEW_BYTES.min(limit / 2));
    let size = Bytes(content.len());
    format!(
        "The output is {size}, too large to show here. All of it is kept as {reference:?}. It begins with:\n{preview}"
    )
    .into()
}

/// Checks that a change to the run context fits beside the output.
fn check_patch(tool: &ToolDef, output: &ToolOutput, patch: Option<&Value>) -> Result<(), BodyFailure> {
    let Some(patch) = patch else { return Ok(()) };
    let len = |value: &Value| encoded_len(value).unwrap_or_default();
    // An output whose limit is higher passes through a codec, and so does the change.
    let limit = tool.output_limit().bytes.max(MOST_BYTES);
    let bytes = len(patch);
    if encoded_len(output).unwrap_or_default() + bytes <= limit {
        return Ok(());
    }
    let members = patch.as_object().into_iter().flatten();
    let key = members.max_by_key(|(_, value)| len(value)).map_or("", |(key, _)| key);
    let (name, bytes, limit) = (tool.name(), Bytes(bytes), Bytes(limit));
    Err(BodyFailure::TooLarge(format!(
        "tool {name:?} changes the run context by {bytes}, above all {key:?}; with its output that is over the limit of {limit}"
    )))
}

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("a value that is no text"))
}
