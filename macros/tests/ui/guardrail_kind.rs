use temporal_agents::{agent::GuardrailOutput, guardrail};

#[guardrail(input)]
async fn waits(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(output, activity)]
fn does_not_wait(_output: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

fn main() {}
