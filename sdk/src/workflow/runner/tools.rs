//! Settings of a runner about tools: the gate, questions to people, selected toolsets; and the
//! trace that a request wishes.

use std::time::Duration;

use temporal_agents_core::{
    gate::Gate,
    wire::{Decision, TraceSettings},
};

use super::Runner;
use crate::workflow::ready_made::AskedTools;

impl<W: 'static> Runner<W> {
    /// Sets what a request says about the tools of the run.
    pub(crate) fn asked_tools(mut self, asked: AskedTools) -> Self {
        if asked != AskedTools::default() {
            asked.apply(self.config_mut());
        }
        self
    }

    /// Sets what a request says about the trace of the run.
    pub(crate) fn asked_trace(mut self, asked: Option<Box<TraceSettings>>) -> Self {
        if let Some(asked) = asked {
            let config = self.config_mut();
            config.trace = asked.within(&config.trace);
        }
        self
    }

    /// See [`RunConfig::gate`](temporal_agents_core::drive::RunConfig::gate).
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.config_mut().gate = Some(gate);
        self
    }

    /// Makes questions expire: see
    /// [`RunConfig::question_expiry`](temporal_agents_core::drive::RunConfig::question_expiry).
    #[must_use]
    pub fn questions_expire(mut self, after: Duration, decision: Decision) -> Self {
        self.config_mut().question_expiry = Some((after, decision));
        self
    }

    /// See [`RunConfig::toolsets`](temporal_agents_core::drive::RunConfig::toolsets).
    #[must_use]
    pub fn toolsets<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config_mut().toolsets = names.into_iter().map(Into::into).collect();
        self
    }

    /// See [`RunConfig::keep_decisions`](temporal_agents_core::drive::RunConfig::keep_decisions).
    #[must_use]
    pub fn keep_decisions(mut self, keeps: bool) -> Self {
        self.config_mut().keep_decisions = keeps;
        self
    }

    /// See [`RunConfig::user`](temporal_agents_core::drive::RunConfig::user).
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.config_mut().user = Some(user.into());
        self
    }
}
