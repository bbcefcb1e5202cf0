//! Builds guardrails of runs and of single tools.

use serde_json::Value;
use temporal_agents::{
    agent::{GuardrailOutput, InputGuardrail, OutputGuardrail},
    tool::{ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail},
};

use super::text::text_of;
use crate::conformance::format::{self, ToolGuardrail, ToolGuardrailBehavior};

/// Builds an input guardrail of a run.
pub(super) fn input(spec: &format::InputGuardrail) -> InputGuardrail {
    let format::InputGuardrail { name, trips_if_input_contains: word, output_info, run_in_parallel, raises } =
        spec.clone();
    let guardrail = InputGuardrail::new(name, move |_ctx, input| {
        judged(raises.as_deref(), word.as_deref(), output_info.as_ref(), || input.text())
    });
    if run_in_parallel == Some(false) { guardrail.blocking() } else { guardrail }
}

/// Builds a guardrail of the final output.
pub(super) fn output(spec: &format::OutputGuardrail) -> OutputGuardrail {
    let format::OutputGuardrail { name, trips_if_output_contains: word, output_info, raises } = spec.clone();
    OutputGuardrail::new(name, move |_ctx, output| {
        judged(raises.as_deref(), word.as_deref(), output_info.as_ref(), || text_of(output))
    })
}

fn judged(
    raises: Option<&str>,
    word: Option<&str>,
    info: Option<&Value>,
    text: impl FnOnce() -> String,
) -> Result<GuardrailOutput, temporal_agents::tool::BoxError> {
    if let Some(message) = raises {
        return Err(message.into());
    }
    let finding = GuardrailOutput::trip_if(word.is_some_and(|word| text().contains(word)));
    Ok(match info {
        Some(info) => finding.info(info),
        None => finding,
    })
}

/// Builds an input guardrail of a tool, which checks the arguments as the model wrote them.
pub(super) fn tool_input(spec: &ToolGuardrail) -> ToolInputGuardrail {
    let spec = spec.clone();
    ToolInputGuardrail::new(spec.name.clone(), move |ctx| verdict(&spec, ctx.arguments))
}

/// Builds an output guardrail of a tool.
pub(super) fn tool_output(spec: &ToolGuardrail) -> ToolOutputGuardrail {
    let spec = spec.clone();
    ToolOutputGuardrail::new(spec.name.clone(), move |_ctx, output| {
        verdict(&spec, &text_of(&output.clone().into_value()))
    })
}

fn verdict(spec: &ToolGuardrail, text: &str) -> ToolGuardrailOutput {
    let ToolGuardrail { name: _, when_contains, behavior, output_info } = spec;
    let applies = when_contains.as_deref().is_none_or(|word| text.contains(word));
    let verdict = match behavior.as_ref().filter(|_| applies) {
        None | Some(ToolGuardrailBehavior::Allow) => ToolGuardrailOutput::allow(),
        Some(ToolGuardrailBehavior::RejectContent(message)) => ToolGuardrailOutput::reject_content(message),
        Some(ToolGuardrailBehavior::RaiseException) => ToolGuardrailOutput::raise_exception(),
    };
    match output_info {
        Some(info) => verdict.info(info),
        None => verdict,
    }
}
