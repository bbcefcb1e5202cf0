//! Decisions of people about the calls of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{McpApproval, PlannedCall, RoundCall};
use crate::wire::{absent::is_default, decider};

/// A decision on a call that needs approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// `true` if the call is made.
    pub approve: bool,
    /// Output that the model gets for a call that is not made; absent = the run's default message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `true` if the message is the output of the call, which was made elsewhere: it is checked
    /// like an output of the tool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub supplied: bool,
    /// Arguments with which the call is made, in place of those that the model wrote; only with
    /// `approve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The name or id of the person who decided, as the caller states it: at most 256 characters,
    /// not sent to models and not checked. A service that lets people decide writes the
    /// authenticated user here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

impl Decision {
    /// Returns the decision to make the call.
    pub fn approve() -> Self {
        Self { approve: true, message: None, supplied: false, arguments: None, by: None }
    }

    /// Returns the decision to make the call with these arguments, in place of those that the model
    /// wrote. The tool checks them like those of a model, and the gate of the run, too. The call in
    /// the conversation stays as the model wrote it.
    pub fn approve_with(arguments: Map<String, Value>) -> Self {
        Self { arguments: Some(arguments), ..Self::approve() }
    }

    /// Returns the decision not to make the call; the model gets the run's default message.
    pub fn reject() -> Self {
        Self { approve: false, message: None, supplied: false, arguments: None, by: None }
    }

    /// Returns the decision not to make the call; the model gets this message.
    pub fn reject_with(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::reject() }
    }

    /// Returns the decision not to make the call, because it was made elsewhere with this output.
    pub fn supply(output: impl Into<String>) -> Self {
        Self { message: Some(output.into()), supplied: true, ..Self::reject() }
    }

    /// Sets the name or id of the person who decided; the first 256 characters are kept.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = decider::named(name);
        self
    }
}

/// The decisions of a run: on single calls, and permanent ones on a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// Decisions on calls of tools, which agents make.
    #[serde(default, skip_serializing_if = "Decisions::is_empty")]
    tools: Decisions,
    /// Decisions on calls for which hosted MCP servers request approval, by server label; a
    /// permanent decision applies to all agents.
    #[serde(default, skip_serializing_if = "Decisions::is_empty")]
    hosted_mcp: Decisions,
}

impl Approvals {
    /// Returns `true` if there is no decision.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.hosted_mcp.is_empty()
    }

    /// Returns the decision on a call: the one on the call itself, otherwise the permanent one on
    /// its tool.
    pub fn on_call(&self, agent: &str, tool: &str, call_id: &str) -> Option<&Decision> {
        self.tools.on(agent, tool, call_id)
    }

    /// Returns the decision that holds for a call of a round.
    pub(crate) fn on_round_call(&self, agent: &str, call: &RoundCall) -> Option<&Decision> {
        let PlannedCall { tool, call_id, .. } = &call.call;
        if call.asks_each { self.tools.on_it(agent, tool, call_id) } else { self.on_call(agent, tool, call_id) }
    }

    /// Returns `true` if there is a decision on the call itself.
    pub(crate) fn is_on_call(&self, agent: &str, tool: &str, call_id: &str) -> bool {
        self.tools.on_it(agent, tool, call_id).is_some()
    }

    /// Returns `true` if the decision on the call itself was made for all later calls, too.
    pub(crate) fn is_for_good(&self, agent: &str, tool: &str, call_id: &str) -> bool {
        self.tools.is_for_good(agent, tool, call_id)
    }

    /// Returns the decision that ends the wait of a call for its output: the output, or a
    /// rejection. An earlier approval of the call does not end it.
    pub fn on_output(&self, agent: &str, tool: &str, call_id: &str) -> Option<&Decision> {
        self.on_call(agent, tool, call_id).filter(|decision| !decision.approve)
    }

    /// Takes the decision that ends the wait of a call for an answer: the answer, or a rejection.
    /// The call itself stays approved, if it needed approval.
    pub(crate) fn take_answer(&mut self, agent: &str, tool: &str, call_id: &str) -> Option<Decision> {
        let decision = self.on_output(agent, tool, call_id)?.clone();
        self.decide_call(agent, tool, call_id, Decision::approve(), Reach::Call);
        Some(decision)
    }

    /// Forgets the decision on a call that has its output: the id may occur again, and outputs of
    /// clients are large. A permanent decision on its tool stays.
    pub(crate) fn forget_call(&mut self, agent: &str, tool: &str, call_id: &str) {
        self.tools.forget(agent, tool, call_id);
    }

    /// Forgets the decision on an approval request of a hosted MCP server that has its answer.
    pub(crate) fn forget_mcp(&mut self, question: &McpApproval) {
        self.hosted_mcp.forget(&question.server_label, &question.tool, &question.request_id);
    }

    /// Forgets the decisions on single calls, and keeps the permanent ones: a response requests new
    /// calls, even if they have the same ids.
    pub(crate) fn forget_calls(&mut self) {
        self.tools.calls.clear();
        self.hosted_mcp.calls.clear();
    }

    /// Returns the decision on a hosted MCP server's approval request.
    pub fn on_mcp(&self, question: &McpApproval) -> Option<&Decision> {
        self.hosted_mcp.on(&question.server_label, &question.tool, &question.request_id)
    }

    /// Returns `true` if the decision on the request itself was made for all later ones, too.
    pub(crate) fn is_mcp_for_good(&self, question: &McpApproval) -> bool {
        let McpApproval { server_label, tool, request_id, .. } = question;
        self.hosted_mcp.is_for_good(server_label, tool, request_id)
    }

    pub(super) fn decide_call(&mut self, agent: &str, tool: &str, call_id: &str, decision: Decision, reach: Reach) {
        self.tools.decide(agent, tool, call_id, decision, reach);
    }

    pub(super) fn decide_mcp(&mut self, question: &McpApproval, decision: Decision, always: bool) {
        let reach = if always { Reach::Tool } else { Reach::Call };
        self.hosted_mcp.decide(&question.server_label, &question.tool, &question.request_id, decision, reach);
    }
}

/// Decisions on calls made by agents, or by servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Decisions {
    /// Decisions on single calls, by the id of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<String, OnCall>,
    /// Permanent decisions, by the agent or server that makes the calls, then by tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    always: BTreeMap<String, BTreeMap<String, Decision>>,
}

/// A decision on one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OnCall {
    by: String,
    tool: String,
    decision: Decision,
    /// `true` if it was made for later calls with this command, too.
    #[serde(default, skip_serializing_if = "is_default")]
    for_command: bool,
}

/// The calls that a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// One call.
    Call,
    /// One call in this run, and those with its command in runs that keep decisions.
    Command,
    /// One call, and all later ones of its tool.
    Tool,
}

impl Decisions {
    fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.always.is_empty()
    }

    fn on(&self, by: &str, tool: &str, id: &str) -> Option<&Decision> {
        self.on_it(by, tool, id).or_else(|| self.always.get(by)?.get(tool))
    }

    fn on_it(&self, by: &str, tool: &str, id: &str) -> Option<&Decision> {
        self.calls.get(id).filter(|on| on.by == by && on.tool == tool).map(|on| &on.decision)
    }

    fn is_for_good(&self, by: &str, tool: &str, id: &str) -> bool {
        let of_tool = self.always.get(by).and_then(|tools| tools.get(tool));
        self.calls.get(id).is_some_and(|on| {
            let is_on_it = on.by == by && on.tool == tool;
            is_on_it && (on.for_command || of_tool == Some(&Decision { arguments: None, ..on.decision.clone() }))
        })
    }

    fn forget(&mut self, by: &str, tool: &str, id: &str) {
        if self.calls.get(id).is_some_and(|on| on.by == by && on.tool == tool) {
            self.calls.remove(id);
        }
    }

    fn decide(&mut self, by: &str, tool: &str, id: &str, decision: Decision, reach: Reach) {
        if reach == Reach::Tool {
            // A permanent decision replaces earlier ones on single calls of the tool, as in the
            // OpenAI Agents SDK.
            self.calls.retain(|_, on| on.by != by || on.tool != tool);
            // Other arguments are those of one call.
            let permanent = Decision { arguments: None, ..decision.clone() };
            self.always.entry(by.to_owned()).or_default().insert(tool.to_owned(), permanent);
        }
        let is_repeated = self.calls.get(id).is_some_and(|on| on.for_command && on.decision == decision);
        let (by, tool, for_command) = (by.to_owned(), tool.to_owned(), reach == Reach::Command || is_repeated);
        self.calls.insert(id.to_owned(), OnCall { by, tool, decision, for_command });
    }
}
