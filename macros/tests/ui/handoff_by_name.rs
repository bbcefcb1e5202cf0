use temporal_agents::Agent;

fn main() {
    let triage: Agent = Agent::new("triage").handoff("billing");
}
