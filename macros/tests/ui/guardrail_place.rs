use temporal_agents::{Agent, agent::GuardrailOutput, guardrail};

#[guardrail(input)]
struct NoHomework;

struct Desk;

impl Desk {
    #[guardrail(input)]
    fn no_homework(&self, _input: &str) -> GuardrailOutput {
        GuardrailOutput::pass()
    }
}

#[guardrail(input)]
const unsafe extern "C" fn generic<'a>(_input: &'a str) -> GuardrailOutput
where
    'a: 'a,
{
    GuardrailOutput::pass()
}

#[guardrail(output)]
fn polite(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("fool"))
}

fn rude(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("fool"))
}

fn main() {
    let _ = Agent::new("desk").input_guardrail(polite).output_guardrail(rude);
}
