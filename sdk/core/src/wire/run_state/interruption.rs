//! The calls that a paused run waits for, and the decisions on them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CallProgress, Decision, McpApproval, Phase, PlannedCall, RunState, ToolRound, approvals::Reach};
use crate::wire::{
    absent::is_default,
    arguments::read_arguments,
    item::{Item, ItemView},
    mcp_call::McpQuestion,
};

use crate::wire::error_debug;

/// A call that waits for a decision, or for its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Interruption {
    /// Id to decide by: the call id; in agents used as tools, the ids of the calls on the way,
    /// joined by `/`. A `/` in a call id is written `~1`, a `~` is written `~0`, as in a JSON
    /// pointer (RFC 6901), because providers choose the ids of calls freely. A `#` is written `~2`,
    /// because a repeated question has its number behind one.
    pub id: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// Name of the tool; for hosted MCP the server's tool.
    pub tool: String,
    /// The call, or the server's approval request, unchanged.
    pub raw: Item,
    /// Kind of input that the call waits for; absent = a decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: InterruptionKind,
    /// Question of an MCP server, if the call waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
}

/// Kind of input that a call waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptionKind {
    /// An approval or a rejection.
    #[default]
    Approval,
    /// The output of the call, which is made elsewhere, or a rejection: the call of a client tool.
    Output,
    /// The answer to a question that an MCP server asks during the call: a JSON object that fits
    /// the question's schema, or a rejection, which declines. The call is then made again with the
    /// answers so far.
    Input,
    /// A kind of a later release.
    #[serde(other)]
    Other,
}

impl Interruption {
    /// Returns the arguments as the model wrote them: JSON text.
    pub fn arguments(&self) -> String {
        match self.raw.view() {
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => call.arguments.into_owned(),
            _ => self.raw.get("arguments").and_then(|text| text.as_str()).unwrap_or_default().to_owned(),
        }
    }

    /// Returns the label of the hosted MCP server that requests approval.
    pub(crate) fn server(&self) -> Option<&str> {
        self.raw.get("server_label").and_then(|label| label.as_str())
    }

    /// Checks that a decision of this kind ends the wait of the call.
    fn takes(&self, decision: &Decision) -> Result<(), DecisionRefused> {
        match (self.kind, self.server()) {
            (InterruptionKind::Output, _) if decision.approve => {
                Err(DecisionRefused::WaitsForOutput { id: self.id.clone(), tool: self.tool.clone() })
            }
            (InterruptionKind::Input, _) if decision.approve => {
                Err(DecisionRefused::WaitsForInput { id: self.id.clone(), tool: self.tool.clone() })
            }
            (InterruptionKind::Input, _) if decision.supplied && content(decision).is_none() => {
                Err(DecisionRefused::NoJsonObject { id: self.id.clone(), tool: self.tool.clone() })
            }
            (InterruptionKind::Input, _) => Ok(()),
            (_, Some(server)) if decision.supplied || decision.arguments.is_some() => {
                Err(DecisionRefused::MadeByServer { id: self.id.clone(), server: server.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

/// Error of a decision that a paused run does not accept.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionRefused {
    /// The run does not wait for a decision under this id.
    #[error("the run does not wait for a decision on {id:?}; it waits for: {}", waiting(.pending))]
    Unknown {
        /// The unknown id.
        id: String,
        /// Ids that the run waits for.
        pending: Vec<String>,
    },
    /// The call is made elsewhere, so there is nothing to approve.
    #[error(
        "call {id:?} of client tool {tool:?} waits for its output: supply it with `supply_output`, or reject the call"
    )]
    WaitsForOutput {
        /// Id of the interruption.
        id: String,
        /// Name of the tool.
        tool: String,
    },
    /// An MCP server asks a question, so there is nothing to approve.
    #[error("call {id:?} of tool {tool:?} waits for an answer: supply it with `supply_output`, or reject it")]
    WaitsForInput {
        /// Id of the interruption.
        id: String,
        /// Name of the tool.
        tool: String,
    },
    /// The answer to an MCP server is not a JSON object.
    #[error("the answer to call {id:?} of tool {tool:?} is not a JSON object")]
    NoJsonObject {
        /// Id of the interruption.
        id: String,
        /// Name of the tool.
        tool: String,
    },
    /// A hosted MCP server makes the call itself, so no one else can supply its output.
    #[error("MCP server {server:?} makes call {id:?} itself once it is approved: approve or reject the call")]
    MadeByServer {
        /// Id of the interruption.
        id: String,
        /// Label of the server.
        server: String,
    },
}

error_debug!(enum DecisionRefused {
    Unknown { id, pending },
    WaitsForOutput { id, tool },
    WaitsForInput { id, tool },
    NoJsonObject { id, tool },
    MadeByServer { id, server },
});

/// Returns the answer in a decision, if the decision supplies a JSON object.
pub fn content(decision: &Decision) -> Option<Map<String, Value>> {
    let text = decision.message.as_ref().filter(|_| decision.supplied)?;
    read_arguments(text).ok()
}

fn waiting(pending: &[String]) -> String {
    if pending.is_empty() { "none".to_owned() } else { pending.join(", ") }
}

impl RunState {
    /// Returns the calls that wait for a decision, in the order of their calls; those of agents
    /// used as tools are at the position of the call of their agent.
    pub fn interruptions(&self) -> Vec<Interruption> {
        self.paused_calls().into_iter().filter(|call| self.decision_on(&call.id).is_none()).collect()
    }

    /// Returns the calls for which this run has paused, including those that are decided by now.
    pub(crate) fn paused_calls(&self) -> Vec<Interruption> {
        let mut found = Vec::new();
        self.collect_paused_calls("", &mut found);
        found
    }

    fn collect_paused_calls(&self, prefix: &str, found: &mut Vec<Interruption>) {
        let Phase::Interrupted { round } = &self.phase else { return };
        let pending = |id: &str, tool: &str, raw: Item, kind: InterruptionKind| Interruption {
            id: format!("{prefix}{}", escaped(id)),
            agent: self.agent.clone(),
            tool: tool.to_owned(),
            raw,
            kind,
            question: None,
        };
        // The order of the OpenAI Agents SDK: after a partial decision, nested runs that still wait
        // come first, those that paused again come last.
        let mut paused_anew = Vec::new();
        let mut rest = Vec::new();
        for call in &round.calls {
            let PlannedCall { tool, variant: _, call_id, arguments: _, native: _ } = &call.call;
            match &call.progress {
                CallProgress::NeedsApproval => {
                    rest.push(pending(call_id, tool, self.raw_call(call_id), InterruptionKind::Approval));
                }
                CallProgress::NeedsOutput => {
                    rest.push(pending(call_id, tool, self.raw_call(call_id), InterruptionKind::Output));
                }
                CallProgress::NeedsInput { question } => {
                    let asked = pending(call_id, tool, self.raw_call(call_id), InterruptionKind::Input);
                    rest.push(Interruption { question: Some(question.clone()), ..asked });
                }
                CallProgress::Paused { run, since_earlier } => {
                    let place = match (round.resumed, since_earlier) {
                        (false, _) => &mut rest,
                        (true, true) => &mut *found,
                        (true, false) => &mut paused_anew,
                    };
                    run.collect_paused_calls(&format!("{prefix}{}/", escaped(call_id)), place);
                }
                CallProgress::Due | CallProgress::Done { .. } => {}
            }
        }
        for question in round.mcp_approvals.iter().filter(|question| question.waits_for_a_person()) {
            let request = question.request.clone();
            rest.push(pending(&question.request_id, &question.tool, request, InterruptionKind::Approval));
        }
        found.append(&mut rest);
        found.append(&mut paused_anew);
    }

    /// Returns the number of questions of MCP servers that people have answered for the calls of
    /// this turn: the next question is a different one, even if it has the same message.
    #[doc(hidden)]
    pub fn questions_answered(&self) -> usize {
        let Phase::Interrupted { round } = &self.phase else { return 0 };
        let inside = |progress: &CallProgress| match progress {
            CallProgress::Paused { run, .. } => run.questions_answered(),
            _ => 0,
        };
        round.calls.iter().map(|call| call.answers.len() + inside(&call.progress)).sum()
    }

    /// Returns the call as the model made it, or an empty item if there is none with this id.
    pub(crate) fn raw_call(&self, call_id: &str) -> Item {
        // Cheaper than a view of each item.
        let made = |item: &&Item| {
            item.call_id() == Some(call_id)
                && matches!(item.view(), ItemView::FunctionCall(_) | ItemView::NativeCall { .. })
        };
        let latest = self.items.iter().rev().map(|item| &item.raw).find(made);
        latest.cloned().unwrap_or_else(|| Item::from(Map::new()))
    }

    /// Returns the present decision on a call for which this run has paused: the one on the call
    /// itself, otherwise the permanent one on its tool.
    pub fn decision_on(&self, id: &str) -> Option<&Decision> {
        let Phase::Interrupted { round } = &self.phase else { return None };
        // An id with a `/` belongs to a nested run, which has the decision in its own state.
        if let Some((outer, inner)) = nested(round, id) {
            return outer.decision_on(inner);
        }
        if let Some(call) = round.calls.iter().find(|call| call.is_pending_as(id)) {
            let PlannedCall { tool, call_id, .. } = &call.call;
            return match &call.progress {
                CallProgress::NeedsOutput | CallProgress::NeedsInput { .. } => {
                    self.approvals.on_output(&self.agent, tool, call_id)
                }
                _ => self.approvals.on_round_call(&self.agent, call),
            };
        }
        let asked = |question: &&McpApproval| question.waits_for_a_person() && escaped(&question.request_id) == id;
        self.approvals.on_mcp(round.mcp_approvals.iter().find(asked)?)
    }

    /// Decides on a pending call; the latest decision counts. It takes effect when the run is
    /// resumed.
    ///
    /// # Errors
    /// [`DecisionRefused`] if the run does not wait for such a decision.
    pub fn decide(&mut self, id: &str, decision: Decision) -> Result<(), DecisionRefused> {
        self.decide_scoped(id, decision, false)
    }

    /// Supplies the output of a pending call that was made elsewhere; the tool does not run. It
    /// takes effect when the run is resumed: the tool's output guardrails check it, then the model
    /// gets it.
    ///
    /// # Errors
    /// [`DecisionRefused`] if the run does not wait for such a decision.
    pub fn supply_output(&mut self, id: &str, output: impl Into<String>) -> Result<(), DecisionRefused> {
        self.decide(id, Decision::supply(output))
    }

    /// Decides on a pending call and on all later calls of this tool by this agent, in this run. If
    /// the gate of the run asks about a command, the decision is only about this call.
    ///
    /// # Errors
    /// [`DecisionRefused`] if the run does not wait for such a decision.
    pub fn decide_always(&mut self, id: &str, decision: Decision) -> Result<(), DecisionRefused> {
        self.decide_scoped(id, decision, true)
    }

    fn decide_scoped(&mut self, id: &str, decision: Decision, always: bool) -> Result<(), DecisionRefused> {
        if let Some(paused) = self.paused_calls().into_iter().find(|paused| paused.id == id) {
            paused.takes(&decision)?;
        }
        let found = self.try_decide(id, decision, always);
        found.ok_or_else(|| {
            let pending = self.interruptions().into_iter().map(|interruption| interruption.id).collect();
            DecisionRefused::Unknown { id: id.to_owned(), pending }
        })
    }

    /// Returns the arguments as the model wrote them, of a pending call that an earlier decision
    /// has changed.
    fn edited_call(&self, id: &str) -> Option<String> {
        self.decision_on(id)?.arguments.as_ref()?;
        let Phase::Interrupted { round } = &self.phase else { return None };
        let call = round.calls.iter().find(|call| call.is_pending_as(id))?;
        match self.raw_call(&call.call.call_id).view() {
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => Some(call.arguments.into_owned()),
            _ => None,
        }
    }

    fn try_decide(&mut self, id: &str, decision: Decision, always: bool) -> Option<()> {
        let written = self.edited_call(id);
        let Phase::Interrupted { round } = &mut self.phase else { return None };
        let paused = round.calls.iter_mut().find_map(|call| match &mut call.progress {
            CallProgress::Paused { run, .. } => inside(id, &call.call.call_id).map(|id| (run, id)),
            _ => None,
        });
        if let Some((run, inner)) = paused {
            return run.try_decide(inner, decision, always);
        }
        if let Some(call) = round.calls.iter_mut().find(|call| call.is_pending_as(id)) {
            match &decision.arguments {
                Some(arguments) if decision.approve => {
                    call.call.arguments = Value::Object(arguments.clone()).to_string();
                }
                // The latest decision counts: one before may have changed the arguments.
                _ => call.call.arguments = written.unwrap_or_else(|| std::mem::take(&mut call.call.arguments)),
            }
            let PlannedCall { tool, call_id, .. } = &call.call;
            let reach = match (always, call.asks_each) {
                (false, _) => Reach::Call,
                (true, true) => Reach::Command,
                (true, false) => Reach::Tool,
            };
            self.approvals.decide_call(&self.agent, tool, call_id, decision, reach);
        } else {
            let asked = |question: &&McpApproval| question.waits_for_a_person() && escaped(&question.request_id) == id;
            self.approvals.decide_mcp(round.mcp_approvals.iter().find(asked)?, decision, always);
        }
        Some(())
    }
}

/// Returns the nested run that an id leads into, with the rest of the id.
fn nested<'a, 'i>(round: &'a ToolRound, id: &'i str) -> Option<(&'a RunState, &'i str)> {
    round.calls.iter().find_map(|call| match &call.progress {
        CallProgress::Paused { run, .. } => Some((&**run, inside(id, &call.call.call_id)?)),
        _ => None,
    })
}

/// Returns the rest of an id that leads into the run of this call.
fn inside<'i>(id: &'i str, call_id: &str) -> Option<&'i str> {
    let (first, rest) = id.split_once('/')?;
    (first == escaped(call_id)).then_some(rest)
}

/// Returns a call id as one part of the id of an interruption.
pub(super) fn escaped(call_id: &str) -> Cow<'_, str> {
    if call_id.contains(['~', '/', '#']) {
        return call_id.replace('~', "~0").replace('/', "~1").replace('#', "~2").into();
    }
    call_id.into()
}
