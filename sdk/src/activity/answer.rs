//! Processing of the result of a tool's body before anything of it leaves the worker: redacted,
//! measured, spilled.

use serde_json::{Map, Value};
use temporal_agents_core::{
    drive::guard::guarded_future,
    tool::{
        ActivityBody, CallInfo, MAX_FAILURE_BYTES, OutputTooLarge, OversizedOutput, Redaction, ToolContext, ToolDef,
        ToolError, ToolFailure, ToolFailureKind, beginning, bounded, truncated,
    },
    wire::{
        SideData, ToolOutput,
        size::{Bytes, MOST_BYTES, encoded_len},
    },
};

use crate::{
    secret::worker_env::Given,
    store::{OptionalSpillStore, SpilledOutput},
};

/// Maximum size of the preview of a spilled output, in bytes.
const MAX_PREVIEW_BYTES: usize = 2_000;

/// The outcome of a body, its change to the run context, and its data for other readers than the
/// model.
pub(crate) struct Returned {
    pub(crate) outcome: Result<ToolOutput, ToolError>,
    pub(crate) patch: Option<Value>,
    pub(crate) side_data: SideData,
}

/// The result of a call in the form in which it leaves the worker.
pub(crate) struct CheckedAnswer {
    pub(crate) output: ToolOutput,
    pub(crate) context_patch: Option<Value>,
    pub(crate) side_data: Option<Box<SideData>>,
}

impl Returned {
    /// Removes from the result everything that must not be recorded.
    pub(crate) fn redacted(self, redaction: &Redaction) -> Self {
        let outcome = match self.outcome {
            Ok(output) => Ok(redaction.output(output)),
            Err(error) => Err(error.with_failure(|failure| failure.redacted(redaction))),
        };
        let patch = self.patch.map(|patch| redaction.value(patch));
        Self { outcome, patch, side_data: redaction.side_data(self.side_data) }
    }
}

/// Runs a body. Its panic is a failure that another attempt may not have.
pub(crate) async fn run(
    body: &ActivityBody,
    ctx: &mut ToolContext,
    arguments: Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    // The body is called inside the future, so that a panic before it returns its own future is
    // also caught.
    let outcome = guarded_future(async { body(ctx, arguments).await }).await;
    outcome.unwrap_or_else(|panic| {
        Err(ToolError::interrupted(ToolFailure::new(ToolFailureKind::Panicked, panic.to_string())))
    })
}

/// Returns the result, which contains no secret that the body received.
///
/// # Errors
/// The failure of the body, or of an output or a change to the run context that is too large. It
/// contains nothing that the tool redacts.
pub(crate) async fn answer(
    tool: &ToolDef,
    spills: &OptionalSpillStore,
    info: &CallInfo,
    returned: Returned,
    given: &Given,
) -> Result<CheckedAnswer, ToolError> {
    let returned = if given.is_empty() { returned } else { returned.redacted(&given.redaction()) };
    let Returned { outcome, patch, side_data } = match tool.redaction() {
        None => returned,
        Some(redaction) => returned.redacted(redaction),
    };
    let output = outcome.map_err(|error| cut_error(tool, error))?;
    let output = bounded(tool, output, side_data.bounds.as_ref())?;
    let output = fitted(tool, spills, info, output).await.map_err(too_large)?;
    let side_data = side_data.into_member();
    check_beside(tool, &output, patch.as_ref(), side_data.as_deref()).map_err(too_large)?;
    Ok(CheckedAnswer { output, context_patch: patch, side_data })
}

/// Returns the failure of a body whose output does not fit. The tool has run: another attempt would
/// repeat its work and return the same amount.
fn too_large(message: String) -> ToolError {
    ToolError::of(ToolFailure::new(ToolFailureKind::Oversized, message))
}

fn cut_error(tool: &ToolDef, error: ToolError) -> ToolError {
    let limit = MAX_FAILURE_BYTES.min(tool.output_limit().bytes);
    if error.message().len() <= limit {
        return error;
    }
    error.with_failure(|failure| failure.with_messages(|message| truncated(message.into(), limit).to_text()))
}

/// Applies the tool's limit for outputs. The error is the message of the failure.
async fn fitted(
    tool: &ToolDef,
    spills: &OptionalSpillStore,
    info: &CallInfo,
    output: ToolOutput,
) -> Result<ToolOutput, String> {
    let limit = tool.output_limit();
    let too_large = match (limit.exceeded_by(tool.name(), &output), limit.above) {
        (None, _) => return Ok(output),
        (Some(too_large), OversizedOutput::Spill) => too_large,
        (Some(_), _) => {
            return limit.fit(tool.name(), output).map_err(|too_large| too_large.to_string());
        }
    };
    let Some(store) = &spills.0 else {
        let fix = "and there is nowhere to spill it; add Resources::spill_store(..)";
        return Err(format!("{too_large}, {fix}"));
    };
    let content = output.to_text();
    match store.spill(SpilledOutput { call: info, content: &content }).await {
        Ok(reference) => Ok(spilled(&reference, &content, limit.bytes)),
        Err(error) => Err(spill_error_message(&too_large, tool, &error.to_string())),
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

/// Checks that a change to the run context, and data for other readers, fit beside the output. The
/// error is the message of the failure.
fn check_beside(
    tool: &ToolDef,
    output: &ToolOutput,
    patch: Option<&Value>,
    side_data: Option<&SideData>,
) -> Result<(), String> {
    let beside = side_data.map_or(0, |data| encoded_len(data).unwrap_or_default());
    if patch.is_none() && beside == 0 {
        return Ok(());
    }
    let len = |value: &Value| encoded_len(value).unwrap_or_default();
    // An output whose limit is higher passes through a codec, and so does the change.
    let limit = tool.output_limit().bytes.max(MOST_BYTES);
    let bytes = patch.map_or(0, len);
    if encoded_len(output).unwrap_or_default() + bytes + beside <= limit {
        return Ok(());
    }
    let (name, limit) = (tool.name(), Bytes(limit));
    if beside >= bytes {
        let bytes = Bytes(beside);
        return Err(format!(
            "tool {name:?} returns {bytes} of data for other readers than the model; with its output that is over the \
             limit of {limit}"
        ));
    }
    let members = patch.and_then(Value::as_object).into_iter().flatten();
    let key = members.max_by_key(|(_, value)| len(value)).map_or("", |(key, _)| key);
    let bytes = Bytes(bytes);
    Err(format!(
        "tool {name:?} changes the run context by {bytes}, above all {key:?}; with its output that is over the limit \
         of {limit}"
    ))
}
