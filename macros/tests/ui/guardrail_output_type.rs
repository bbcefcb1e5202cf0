use temporal_agents::{agent::GuardrailOutput, guardrail};

struct Plan {
    euros: u32,
}

#[guardrail(output)]
fn affordable(plan: &Plan) -> GuardrailOutput {
    GuardrailOutput::trip_if(plan.euros > 900)
}

#[guardrail(output)]
fn anything(output: impl Into<String>) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.into().is_empty())
}

fn main() {}
