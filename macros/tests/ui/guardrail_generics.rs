use temporal_agents::{agent::GuardrailOutput, guardrail};

/// Takes anything.
#[guardrail(output)]
fn checked<T: ToString>(output: T) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.to_string().is_empty())
}

/// Takes anything, too.
#[guardrail(output)]
fn looked_at(output: impl ToString) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.to_string().is_empty())
}

fn main() {}
