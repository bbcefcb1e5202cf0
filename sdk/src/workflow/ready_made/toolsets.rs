//! What a caller asks for the tools of a run of a ready-made workflow: additional toolsets and
//! devices, the user, whether the content is untrusted, and the gates to obey.

use temporal_agents_core::{
    agent::permits_toolset,
    drive::RunConfig,
    engine::RunError,
    gate::{Gate, MAX_CALLERS},
    wire::PassedGate,
};

use super::agent_set::{AgentSet, invalid_input_error};
use crate::workflow::continuing::refused;

/// The part of a request about the tools of its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AskedTools {
    /// Names of toolsets and devices.
    pub(crate) toolsets: Vec<String>,
    /// The user for whom the run works.
    pub(crate) user: Option<String>,
    /// `true` if the run has untrusted content.
    pub(crate) untrusted: bool,
    /// The gates of the runs that called the agent from another workflow.
    pub(crate) gates: Vec<PassedGate>,
    /// `true` if a parent workflow made the request.
    pub(crate) is_child: bool,
}

impl AskedTools {
    /// Sets what was asked for in the configuration of a run.
    pub(crate) fn apply(self, config: &mut RunConfig) {
        let Self { toolsets, user, untrusted, gates, is_child: _ } = self;
        // A caller selects for the user of the request, never for the one of the configuration.
        if !toolsets.is_empty() || user.is_some() {
            config.user = user;
        }
        config.toolsets.extend(toolsets);
        if !gates.is_empty() {
            config.gate = Some(match config.gate.take() {
                Some(own) => own.with_callers(&gates),
                None => Gate::from_callers(&gates),
            });
        }
        if untrusted {
            // Without a gate the request is refused.
            config.gate = config.gate.take().map(|gate| gate.untrusted(true));
        }
    }
}

impl AgentSet {
    /// Permits callers to select these toolsets and devices for a run
    /// ([`AgentRequest::toolsets`](temporal_agents_core::wire::AgentRequest::toolsets)): names, or prefixes that
    /// end in `*`. By default they may select none.
    ///
    /// A device must belong to the user of the request. Whoever may start the workflow writes that
    /// member: the service over HTTP writes the caller whom it has authenticated, and other
    /// programs that start the workflow must do the same.
    ///
    /// ```
    /// use temporal_agents::{Agent, workflow::AgentSet};
    ///
    /// fn assistant() -> Agent {
    ///     Agent::new("assistant").model("gpt-5")
    /// }
    ///
    /// let agents = AgentSet::new((assistant,)).allow_toolsets(["search", "dev-*"]);
    /// ```
    #[must_use]
    pub fn allow_toolsets<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.open_toolsets.extend(names.into_iter().map(Into::into));
        self
    }

    /// Checks what a caller says about the tools of a run.
    ///
    /// # Errors
    /// [`RunError::Refused`] with a toolset that callers may not select, or with gates that no
    /// parent workflow has set; [`RunError::User`] if the content is untrusted, and there is no gate.
    pub(crate) fn admit_tools(&self, agent: &str, asked: &AskedTools) -> Result<(), RunError> {
        if !asked.gates.is_empty() && !asked.is_child {
            return Err(refused(agent, "the gates of the request", "only a parent workflow may set them"));
        }
        if asked.gates.len() > MAX_CALLERS {
            let what = format!("{} gates", asked.gates.len());
            let reason = format!("a run obeys the gates of at most {MAX_CALLERS} callers");
            return Err(refused(agent, &what, &reason));
        }
        if asked.untrusted && self.config.gate.is_none() && asked.gates.is_empty() {
            let message = "the request has untrusted content, and this workflow has no gate; set one in the \
                           configuration of its agents: AgentSet::config(RunConfig::builder().gate(..).build())";
            return Err(invalid_input_error(agent, message.to_owned()));
        }
        let closed = asked.toolsets.iter().find(|name| !permits_toolset(&self.open_toolsets, name));
        match closed {
            None => Ok(()),
            Some(name) => {
                let what = format!("toolset {name:?}");
                let reason = "callers may select only the toolsets that AgentSet::allow_toolsets permits";
                Err(refused(agent, &what, reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_selects_for_the_user_of_the_request_alone() {
        let config = || RunConfig::builder().user("ops".to_owned()).build();
        let applied = |toolsets: &[&str], user: Option<&str>| {
            let mut config = config();
            let toolsets = toolsets.iter().map(|name| (*name).to_owned()).collect();
            AskedTools { toolsets, user: user.map(str::to_owned), untrusted: false, ..AskedTools::default() }
                .apply(&mut config);
            config.user
        };
        assert_eq!(applied(&["laptop"], None), None);
        assert_eq!(applied(&["laptop"], Some("ada")).as_deref(), Some("ada"));
        assert_eq!(applied(&[], None).as_deref(), Some("ops"));
    }
}
