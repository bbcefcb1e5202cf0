use temporal_agents::{agent_handlers, workflow::AgentInbox};

#[agent_handlers]
pub struct Refunds {
    inbox: AgentInbox,
}

pub trait Asks {
    fn ask(&self);
}

#[agent_handlers]
impl Asks for Refunds {
    fn ask(&self) {}
}

pub struct Typed<T>(T);

#[agent_handlers]
impl<T> Typed<T> {}

fn main() {}
