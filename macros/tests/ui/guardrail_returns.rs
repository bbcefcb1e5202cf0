use temporal_agents::{Agent, ToolError, agent::GuardrailOutput, guardrail};

#[guardrail(input)]
fn ambiguous(input: &str) -> bool {
    input.is_empty()
}

#[guardrail(input)]
fn silent(_input: &str) {}

#[guardrail(input)]
fn wordy(input: &str) -> String {
    input.to_owned()
}

#[guardrail(input)]
fn of_a_tool(_input: &str) -> Result<GuardrailOutput, ToolError> {
    Ok(GuardrailOutput::pass())
}

struct Broken;

#[guardrail(output, activity)]
async fn broken(_output: &str) -> Result<GuardrailOutput, Broken> {
    Err(Broken)
}

fn main() {
    let _ = Agent::new("desk").input_guardrail(wordy).output_guardrail(broken);
}
