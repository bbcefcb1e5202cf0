//! The gates of the runs that have called this one from another workflow.
//!
//! # Design
//! **Each gate decides, and the strictest verdict holds.** The gate of the child workflow's own
//! set of agents and the gates of its callers are asked about each call, so a child workflow never
//! permits what its caller forbids.
//!
//! **What is not understood narrows.** The worker of a child workflow may be of another release.
//! If it cannot use a rule of a caller, or would read it differently, a person approves each call.

use std::borrow::Cow;

use super::{Gate, GateMode, GateVerdict, GatedCall, Rule};
use crate::wire::PassedGate;

/// Maximum number of callers' gates that a run obeys. Equal gates count once.
pub const MAX_CALLERS: usize = 16;

/// The gate of a caller.
#[derive(Clone, Debug)]
pub(super) struct CallerGate {
    pub(super) gate: Gate,
    /// The gate as it was received.
    passed: PassedGate,
}

impl CallerGate {
    fn from_passed(passed: &PassedGate) -> Self {
        let rules: Vec<Rule> = passed.rules.iter().filter_map(parse_rule).collect();
        let gate = Gate::new(passed.mode).rules(rules).privileged(passed.privileged.clone());
        let is_understood = gate.rules.len() == passed.rules.len();
        let mode = if is_understood { passed.mode } else { GateMode::ApproveEach };
        let gate = Gate { mode, ignores_dangers: passed.ignores_dangers, ..gate };
        Self { gate, passed: passed.clone() }
    }

    /// Decides about a call of a run whose own gate has this judge.
    pub(super) fn verdict(&self, call: &GatedCall<'_>, judge: Option<&str>) -> GateVerdict {
        match self.gate.own_verdict(call) {
            GateVerdict::Judge if judge.is_none() || judge != self.passed.judge.as_deref() => {
                let reason = match &self.passed.judge {
                    Some(name) => format!(
                        "the caller's gate asks the judge {name:?}, which the gate of this workflow does not have"
                    ),
                    None => "the caller's gate has no judge".to_owned(),
                };
                GateVerdict::Ask { rule: None, reason }
            }
            verdict => verdict,
        }
    }
}

impl Gate {
    /// Creates the gate of a run that has only the gates of callers.
    #[doc(hidden)]
    pub fn from_callers<'g>(passed: impl IntoIterator<Item = &'g PassedGate>) -> Self {
        Self { is_of_callers_only: true, ..Self::new(GateMode::Autonomous).with_callers(passed) }
    }

    /// Returns the gate for calls of a device that has announced no mode. In a run without a gate of
    /// its own, a person decides about each call.
    pub(crate) fn for_silent_device(&self) -> Cow<'_, Self> {
        if self.is_of_callers_only {
            Cow::Owned(Self { mode: GateMode::ApproveEach, ..self.clone() })
        } else {
            Cow::Borrowed(self)
        }
    }

    /// Adds the gates of callers.
    #[doc(hidden)]
    #[must_use]
    pub fn with_callers<'g>(mut self, passed: impl IntoIterator<Item = &'g PassedGate>) -> Self {
        self.callers.extend(passed.into_iter().map(CallerGate::from_passed));
        self
    }

    /// Returns what the run of an agent in a child workflow must obey: this gate, and the gates of
    /// this run's callers, each once.
    pub(crate) fn passed_gates(&self) -> Vec<PassedGate> {
        let own = PassedGate {
            mode: self.mode,
            rules: self.rules.to_json(),
            privileged: self.privileged.clone(),
            judge: self.judging_agent().map(|judge| judge.name.clone()),
            ignores_dangers: self.ignores_dangers,
        };
        let permits_all = own.mode == GateMode::Autonomous && own.rules.is_empty() && own.privileged.is_empty();
        let mut passed: Vec<PassedGate> = self.callers.iter().map(|caller| caller.passed.clone()).collect();
        if !(permits_all || passed.contains(&own)) {
            passed.push(own);
        }
        passed
    }
}

/// Reads a rule; `None` if this release does not write it back unchanged.
fn parse_rule(rule: &serde_json::Value) -> Option<Rule> {
    let read: Rule = serde_json::from_value(rule.clone()).ok()?;
    (serde_json::to_value(&read).ok()? == *rule).then_some(read)
}
