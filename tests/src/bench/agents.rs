//! The agents and their tool.

use temporal_agents::{Agent, tool};

use super::{
    model::{AT_ONCE, BY_TURN},
    script::filler,
    spec::{Kind, Spec},
};

/// The model's name; the scripted model answers to any.
const MODEL: &str = "scripted";

/// Look a fact up.
///
/// # Arguments
/// * `q` - what to look up
/// * `n` - how many bytes to return
#[tool(start_to_close = "60s")]
pub async fn lookup(q: String, n: usize) -> String {
    filler(&q, n)
}

/// The agent that a run of this kind begins with.
pub fn start(kind: Kind) -> Agent {
    match kind {
        Kind::Chat => chat(),
        Kind::Tools => assistant(),
        Kind::Handoff => triage(),
    }
}

/// Answers.
pub fn chat() -> Agent {
    Agent::new("assistant").model(MODEL).instructions("You answer briefly.")
}

/// Answers with the tool.
pub fn assistant() -> Agent {
    Agent::new("assistant").model(MODEL).instructions("You answer with the lookup tool.").tool(lookup)
}

/// Calls the tool many times at once, and answers.
pub fn hurried() -> Agent {
    Agent::new("hurried").model(AT_ONCE).instructions("You answer with the lookup tool.").tool(lookup)
}

/// Answers with the tool. What it is to do stands in its instructions, and how far it is in its turn: its conversation may be cut.
pub fn tireless(spec: &Spec) -> Agent {
    Agent::new("assistant").model(BY_TURN).instructions(spec.message()).tool(lookup)
}

/// Hands off to a specialist, who answers with the tool.
pub fn triage() -> Agent {
    let specialist = Agent::new("specialist")
        .model(MODEL)
        .instructions("You answer with the lookup tool.")
        .handoff_description("Looks facts up")
        .tool(lookup);
    Agent::new("triage").model(MODEL).instructions("Hand off to the specialist.").handoff(specialist)
}
