//! Reports runs that have failed.

use serde_json::{Value, json};
use temporal_agents::{RunError, RunFailure, wire::RunState};
use temporal_agents_core::engine::ReferenceError;

use super::{
    items::{input_result, output_result},
    outcome::body,
};

/// Reports a failed run in the terms of the reference implementation; with its partial data, if the
/// reference provides them.
pub(crate) fn failed(failure: &RunFailure) -> Value {
    let RunFailure { error, state, .. } = failure;
    let reference: ReferenceError = error.reference();
    let partial = state.as_deref().filter(|_| reference.has_run_data).map(partial);
    json!({
        "kind": "error",
        "error": reference.class.unwrap_or("Other"),
        "message": reference.message,
        "guardrail": guardrail(error),
        "partial": partial,
    })
}

fn partial(state: &RunState) -> Value {
    Value::Object(body(&state.agent, &state.items, &state.usage, &state.guardrails))
}

/// Returns the finding of the guardrail that ended the run.
fn guardrail(error: &RunError) -> Option<Value> {
    match error {
        RunError::InputGuardrailTripped { result, .. } => Some(input_result(result)),
        RunError::OutputGuardrailTripped { result, .. } => Some(output_result(result)),
        RunError::ToolInputGuardrailTripped { result, .. } | RunError::ToolOutputGuardrailTripped { result, .. } => {
            Some(json!({"guardrail": result.guardrail, "output_info": result.output_info}))
        }
        _ => None,
    }
}
