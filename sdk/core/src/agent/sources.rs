//! The argument types of `AgentsPlugin::agents`: agents, functions that return them, and tuples of
//! both.

use std::collections::BTreeSet;

use super::{
    def::{Agent, AgentDef},
    spec::SpecParts,
};

/// One agent: the agent itself, or a function that returns it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an agent",
    note = "pass an `Agent`, or a function `fn() -> Agent<..>`"
)]
pub trait AgentSource {
    /// Returns the agent with its output type erased.
    fn agent_def(&self) -> AgentDef;
}

impl<O> AgentSource for Agent<O> {
    fn agent_def(&self) -> AgentDef {
        self.def().clone()
    }
}

impl AgentSource for AgentDef {
    fn agent_def(&self) -> AgentDef {
        self.clone()
    }
}

impl<O, F: Fn() -> Agent<O>> AgentSource for F {
    fn agent_def(&self) -> AgentDef {
        self().into()
    }
}

/// Start agents of any output types: a tuple of up to eight, `(triage, support)`, a vector, or all
/// agents of an `AgentSet`, `&set`. `()` are none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of agents",
    note = "pass a tuple, `.agents((triage, support))`; for one agent, `.agent(triage)`"
)]
pub trait AgentSources {
    /// Returns the agents.
    fn agent_defs(self) -> Vec<AgentDef>;

    /// Returns the activity types of the tools that the agents have in several versions. Each call
    /// of such a tool carries the version that it is for.
    fn versioned_tools(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Returns the parts that agents as data may use.
    fn spec_parts(&self) -> Option<SpecParts> {
        None
    }

    /// Returns the toolsets and devices that callers may select for a run: names, and prefixes that
    /// end in `*`.
    fn open_toolsets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns `true` if chats of these agents are kept in a store.
    fn keeps_chats(&self) -> bool {
        false
    }

    /// Returns `true` if the agents run without an output type, so that agents that hand off to each
    /// other may differ in it.
    fn runs_untyped(&self) -> bool {
        false
    }
}

/// Returns `true` if these open toolsets, names or prefixes that end in `*`, contain a name.
pub fn permits_toolset(open: &[String], name: &str) -> bool {
    open.iter().any(|open| match open.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => open == name,
    })
}

impl AgentSources for () {
    fn agent_defs(self) -> Vec<AgentDef> {
        Vec::new()
    }
}

impl<S: AgentSource> AgentSources for Vec<S> {
    fn agent_defs(self) -> Vec<AgentDef> {
        self.iter().map(AgentSource::agent_def).collect()
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<$($name: AgentSource),+> AgentSources for ($($name,)+) {
            fn agent_defs(self) -> Vec<AgentDef> {
                #[expect(non_snake_case, reason = "the variables are named like their types")]
                let ($($name,)+) = self;
                vec![$($name.agent_def()),+]
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
