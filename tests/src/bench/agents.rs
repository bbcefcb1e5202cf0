//! The agents and their tool.

use temporal_agents::{Agent, Tool, tool};

use super::{
    model::{AT_ONCE, BY_TURN},
    script::filler,
    spec::{Kind, Spec},
};

/// Name of the model; the scripted model accepts any name.
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

/// Returns the start agent of a run of this kind.
pub fn start(kind: Kind) -> Agent {
    match kind {
        Kind::Chat => chat(),
        Kind::Tools => assistant(),
        Kind::Handoff => triage(),
    }
}

/// Creates an agent that answers without tools.
pub fn chat() -> Agent {
    Agent::new("assistant").model(MODEL).instructions("You answer briefly.")
}

/// Creates an agent that answers with the tool.
pub fn assistant() -> Agent {
    Agent::new("assistant").model(MODEL).instructions("You answer with the lookup tool.").tool(lookup)
}

/// Creates an agent whose calls of the tool wait for an approval.
pub fn clerk() -> Agent {
    Agent::new("clerk").model(MODEL).instructions("You answer with the lookup tool.").tool(lookup.needs_approval())
}

/// Creates an agent that makes many calls of the tool in one response, and then answers.
pub fn hurried() -> Agent {
    Agent::new("hurried").model(AT_ONCE).instructions("You answer with the lookup tool.").tool(lookup)
}

/// Creates an agent that answers with the tool in many turns. Its model reads the spec from the
/// instructions and the progress from the number of the turn, because the conversation may be
/// trimmed.
pub fn tireless(spec: &Spec) -> Agent {
    Agent::new("assistant").model(BY_TURN).instructions(spec.message()).tool(lookup)
}

/// Creates an agent that hands off to a specialist, which answers with the tool.
pub fn triage() -> Agent {
    let specialist = Agent::new("specialist")
        .model(MODEL)
        .instructions("You answer with the lookup tool.")
        .handoff_description("Looks facts up")
        .tool(lookup);
    Agent::new("triage").model(MODEL).instructions("Hand off to the specialist.").handoff(specialist)
}
