//! Builds handlers of errors.

use serde_json::Value;
use temporal_agents::run::{ErrorHandler, ErrorHandlers, Handled};

use super::text::filled;
use crate::conformance::format;

/// Builds the error handlers of a scenario.
pub(super) fn error_handlers(spec: &format::ErrorHandlers) -> ErrorHandlers {
    let format::ErrorHandlers { max_turns, model_refusal, invalid_final_output } = spec;
    let mut handlers = ErrorHandlers::default();
    handlers.max_turns = max_turns.as_ref().map(handler);
    handlers.model_refusal = model_refusal.as_ref().map(handler);
    handlers.invalid_final_output = invalid_final_output.as_ref().map(handler);
    handlers
}

fn handler(spec: &format::ErrorHandler) -> ErrorHandler {
    let format::ErrorHandler { final_output, include_in_history, declines } = spec.clone();
    ErrorHandler::new(move |error| {
        if declines == Some(true) {
            return Ok(None);
        }
        let output = match &final_output {
            None => Value::Null,
            Some(Value::String(template)) => {
                let length = error.history.len().to_string();
                let values = [("error", error.message), ("history_len", &length), ("last_agent", error.last_agent)];
                filled(template, &values).into()
            }
            Some(other) => other.clone(),
        };
        let handled = Handled::output(output);
        Ok(Some(if include_in_history == Some(false) { handled.without_message() } else { handled }))
    })
}
