use temporal_agents::{
    RunContext, State, ToolContext,
    agent::{GuardrailContext, GuardrailInput, GuardrailOutput},
    guardrail,
};

#[guardrail(input)]
fn nothing(_ctx: &GuardrailContext<'_>) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(input)]
fn other(input: Vec<String>, run: RunContext, _ctx: &mut GuardrailContext<'_>) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.len() == run.values().len())
}

#[guardrail(input)]
fn elsewhere(input: &str, State(limit): State<usize>, call: &ToolContext) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.len() > limit && call.is_cancelled())
}

#[guardrail(output)]
fn two(output: &str, limit: &u32, _input: GuardrailInput<'_>) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.len() > *limit as usize)
}

#[guardrail(input, activity)]
async fn empty(_input: &str, run: &RunContext, /** Documented. */ _ctx: &GuardrailContext<'_>) -> GuardrailOutput {
    GuardrailOutput::trip_if(run.values().is_empty())
}

fn main() {}
