use temporal_agents::{agent::GuardrailOutput, guardrail};

#[guardrail]
fn neither(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(input, output)]
fn both(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(output, blocking)]
fn late(_output: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(input, start_to_close = "5s", attempts = 2, context("user"))]
fn pure(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(input, activity, idempotent = false, attempts = 2, timeout = "5s", run_in_parallel = false, blockin, name = "no homework")]
async fn wrong(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

fn main() {}
