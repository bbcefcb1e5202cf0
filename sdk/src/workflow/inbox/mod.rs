//! The inbox of a workflow's runs: decisions by interruption id, kept until a run takes them or all
//! runs have ended.
//!
//! A plain serde value without clock, context or wakers (a run waits with `wait_condition`, see
//! [`RunInbox`]). The updates of `#[agent_handlers]` add decisions; the run publishes the calls
//! that wait ([`questions`]) and takes the decisions. Only the first decision on an id counts, also
//! after continue-as-new, because the inbox is carried over. The ids of the latest 1,000 decisions
//! that were taken are remembered.
//!
//! A *question* in this module is an interruption that a run has published: a call that waits,
//! under the id by which it is decided.

mod context;
mod questions;
mod record;
mod restore;
mod run_inbox;

use serde::{Deserialize, Serialize};
use temporal_agents_core::{
    drive::refusal::refusal,
    wire::{
        AgentDecision, AgentInterruption, AgentState, Carried, DecidedInterruption, DecisionAnswer, RunStatus,
        SuppliedOutput, Verdict, WIRE_VERSION, WireVersion,
        agent_handlers::{first_version, readable_version},
    },
};

use self::questions::Asked;
pub(in crate::workflow) use self::record::decide;
pub use self::{
    context::HasAgentInbox,
    record::{agent_decide, agent_supply_output},
};
pub(crate) use self::{
    context::InboxContext,
    run_inbox::{RunInbox, Waits},
};
use super::stream::StreamLog;

/// Maximum number of decisions that are kept although no run has requested them, and maximum total
/// bytes of their strings.
const MOST_KEPT: usize = 1000;
const MAX_KEPT_BYTES: usize = 256 * 1024;
/// Maximum number of decisions that are remembered after a run has taken them, and maximum total
/// bytes of their strings.
const MOST_TAKEN: usize = 1000;
const MAX_TAKEN_BYTES: usize = 256 * 1024;

/// The calls that a workflow's runs wait for, and the decisions that have arrived. It is a field of
/// the workflow, and a part of the input with which the workflow continues as new.
///
/// ```
/// use temporal_agents::{
///     wire::{AgentDecision, DecisionAnswer},
///     workflow::AgentInbox,
/// };
///
/// let mut inbox = AgentInbox::default();
/// let kept = inbox.decide(AgentDecision::approve("call_1"));
/// assert_eq!(kept, DecisionAnswer::Kept { waits_for: vec![] });
/// ```
///
/// A workflow that continues as new restores the inbox from its input in `#[init]`, so that it is
/// available before the first update:
///
/// ```
/// # use temporal_agents::{Agent, Runner, agent_handlers};
/// # use temporal_agents::run::{PausedRun, RunOutcome};
/// # use temporal_agents::wire::RunState;
/// # use temporal_agents::workflow::AgentInbox;
/// # use temporalio_macros::{workflow, workflow_methods};
/// # use temporalio_workflow::{
/// #     ContinueAsNewOptions, WorkflowContext, WorkflowContextView, WorkflowResult,
/// # };
/// # fn main() {}
/// # fn refunds() -> Agent { Agent::new("refunds").model("gpt-5") }
/// #[derive(Default, serde::Serialize, serde::Deserialize)]
/// pub struct Carried {
///     inbox: AgentInbox,
///     paused: Option<RunState>,
/// }
///
/// #[workflow]
/// pub struct Refunds {
///     inbox: AgentInbox,
///     paused: Option<RunState>,
/// }
///
/// #[agent_handlers]
/// #[workflow_methods]
/// impl Refunds {
///     #[init]
///     fn new(_ctx: &WorkflowContextView, carried: Carried) -> Self {
///         Self { inbox: carried.inbox, paused: carried.paused }
///     }
///
///     #[run(name = "refunds")]
///     pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
///         let runner = Runner::with_inbox(ctx);
///         let outcome = match ctx.state_mut(|refunds| refunds.paused.take()) {
///             None => runner.run(&refunds(), "Order 7, please.").until_paused().await?,
///             Some(state) => return Ok(runner.run(&refunds(), state).await?.final_output),
///         };
///         match outcome {
///             RunOutcome::Finished(result) => Ok(result.final_output),
///             RunOutcome::Paused(PausedRun { state, .. }) => {
///                 let carried = Carried {
///                     inbox: ctx.state(|refunds| refunds.inbox.clone()),
///                     paused: Some(state),
///                 };
///                 match ctx.continue_as_new(carried, ContinueAsNewOptions::default())? {}
///             }
///         }
///     }
/// }
/// ```
///
/// # Determinism
/// The inbox is changed only by the workflow's own updates and runs, so that replay produces the
/// same inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInbox {
    /// Version of this value.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    version: WireVersion,
    /// Decisions in the order of arrival, one for each id, also on ids that no run has asked about
    /// yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    decided: Vec<DecidedInterruption>,
    /// Questions that runs wait for now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<AgentInterruption>,
    /// Questions whose id differs from that of their call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    renamed: Vec<Asked>,
    /// Ids that a run has requested a decision on and that had none when the run ended, the oldest
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    given_up: Vec<String>,
    /// Agent of the latest turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default)]
    turn: u32,
    /// The workflow's stream.
    #[serde(default, skip_serializing_if = "StreamLog::is_unused")]
    stream: StreamLog,
    /// Final status of the last run, if no run is active.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "temporal_agents_core::wire::run_status::ended_in_first_words"
    )]
    ended: Option<RunStatus>,
    /// Ids of the open questions in the workflow's memo; empty before the first pause, and in an
    /// execution that does not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    recorded: Vec<String>,
    /// Number of active runs in this execution of the workflow, not counting paused ones.
    #[serde(skip)]
    at_work: u32,
    /// The ids of `waits_for` that belong to active runs; the others belong to paused runs.
    #[serde(skip)]
    held: Vec<String>,
}

impl Default for AgentInbox {
    fn default() -> Self {
        Self {
            version: WIRE_VERSION,
            decided: Vec::new(),
            waits_for: Vec::new(),
            renamed: Vec::new(),
            given_up: Vec::new(),
            agent: None,
            turn: 0,
            stream: StreamLog::default(),
            ended: None,
            recorded: Vec::new(),
            at_work: 0,
            held: Vec::new(),
        }
    }
}

impl AgentInbox {
    /// Adds a decision. Only the first decision on an id counts.
    pub fn decide(&mut self, decision: AgentDecision) -> DecisionAnswer {
        let AgentDecision { version: _, interruption_id: id, decision, always, by } = decision;
        let asked = self.waits_for.iter().find(|call| call.id == id);
        let is_asked = asked.is_some();
        if let Some(first) = self.decided.iter().find(|decided| decided.id == id) {
            return if (&first.decision, first.always) != (&decision, always) {
                DecisionAnswer::AlreadyDecided { decision: first.decision.clone(), always: first.always }
            } else if is_asked || first.taken {
                DecisionAnswer::Accepted
            } else {
                self.unclaimed_answer()
            };
        }
        if let Some(reason) = asked.and_then(|asked| refusal(asked, &decision)) {
            return DecisionAnswer::Refused { reason };
        }
        let may_be_kept = self.has_room_for(&id, &decision) && !self.is_over() && !self.given_up.contains(&id);
        if !is_asked && !may_be_kept {
            return DecisionAnswer::Unknown { waits_for: self.ids() };
        }
        self.decided.push(DecidedInterruption { id, decision, always, taken: false, by });
        if is_asked { DecisionAnswer::Accepted } else { self.unclaimed_answer() }
    }

    /// Returns the answer to a decision whose call does not wait now.
    fn unclaimed_answer(&self) -> DecisionAnswer {
        let waits_for: Vec<String> = self.undecided().map(|call| call.id.clone()).collect();
        if waits_for.is_empty() { DecisionAnswer::Kept { waits_for } } else { DecisionAnswer::Unmatched { waits_for } }
    }

    /// Restores the inbox of a run that has continued as new, for `#[init]`: an update that arrives
    /// before the run continues then has the same answer as in the previous execution. (Otherwise
    /// its answer is [`Kept`](DecisionAnswer::Kept), and it still counts.)
    ///
    /// The inbox is empty if the run had none. It is also empty if this release cannot read it; in
    /// this case continuing the run fails.
    pub fn of(carried: &Carried) -> Self {
        carried.inbox.as_ref().and_then(|inbox| Self::deserialize(inbox).ok()).unwrap_or_default()
    }

    /// Counts polls of the stream that the execution has not had, for tests of the limit.
    #[doc(hidden)]
    pub fn count_stream_polls(&mut self, polls: u32) {
        self.stream.polls_mut().count_earlier(polls);
    }

    /// Returns the workflow's stream.
    pub(super) fn stream(&self) -> &StreamLog {
        &self.stream
    }

    pub(super) fn stream_mut(&mut self) -> &mut StreamLog {
        &mut self.stream
    }

    /// Adds the output of a call that a client has made. This is also a decision.
    pub fn supply_output(&mut self, supplied: SuppliedOutput) -> DecisionAnswer {
        self.decide(supplied.into())
    }

    /// Returns the state of the workflow's runs: status, agent and turn, open and decided
    /// questions.
    pub fn state(&self) -> AgentState {
        AgentState {
            version: WIRE_VERSION,
            status: self.status(),
            agent: self.agent.clone(),
            turn: self.turn,
            interruptions: self.undecided().cloned().collect(),
            decided: self.decided.clone(),
        }
    }

    /// Returns the calls that wait for a decision, and those whose decision their run has not taken
    /// yet. The [`state`](Self::state) has only the first.
    pub fn interruptions(&self) -> &[AgentInterruption] {
        &self.waits_for
    }

    fn status(&self) -> RunStatus {
        match self.ended {
            _ if self.undecided().next().is_some() => RunStatus::Waiting,
            _ if self.at_work > 0 => RunStatus::Running,
            // A run that has paused and is decided waits to be resumed.
            _ if !self.waits_for.is_empty() => RunStatus::Waiting,
            Some(ended) => ended,
            None => RunStatus::Queued,
        }
    }

    /// Returns the questions without a decision. A decision that a busy run has not taken yet
    /// leaves its question in `waits_for`, and a reader who saw it would decide again.
    fn undecided(&self) -> impl Iterator<Item = &AgentInterruption> {
        self.waits_for.iter().filter(|call| !self.is_decided(&call.id))
    }

    /// Returns `true` if no run will request a decision any more, as far as can be known here.
    fn is_over(&self) -> bool {
        self.at_work == 0 && self.waits_for.is_empty() && self.ended.is_some()
    }

    /// Returns `true` if one more decision can be kept that no run has requested. The number is
    /// limited, because the inbox is carried over continue-as-new.
    fn has_room_for(&self, id: &str, decision: &Verdict) -> bool {
        let kept = || self.decided.iter().filter(|decided| !decided.taken);
        let text: usize = kept().map(|kept| kept.id.len() + text_len(&kept.decision)).sum();
        kept().count() < MOST_KEPT && text + id.len() + text_len(decision) <= MAX_KEPT_BYTES
    }

    fn ids(&self) -> Vec<String> {
        self.waits_for.iter().map(|call| call.id.clone()).collect()
    }

    /// Returns `true` if there is a decision on this id that no run has taken yet.
    pub(crate) fn is_decided(&self, id: &str) -> bool {
        self.decided.iter().any(|decided| decided.id == id && !decided.taken)
    }

    /// Records that a run begins.
    fn begin(&mut self) {
        self.at_work += 1;
        self.ended = None;
        self.stream.polls_mut().run_began();
    }

    /// Records the current turn of a run.
    fn at_turn(&mut self, agent: &str, turn: u32) {
        self.agent = Some(agent.to_owned());
        self.turn = turn;
    }

    /// Takes the decisions on these calls, in the order of arrival.
    fn take(&mut self, ids: &[String]) -> Vec<DecidedInterruption> {
        let mut taken = Vec::new();
        for decided in self.decided.iter_mut().filter(|decided| !decided.taken && ids.contains(&decided.id)) {
            decided.taken = true;
            taken.push(decided.clone());
        }
        self.withdraw(|id| taken.iter().any(|decided| decided.id == id));
        self.forget_oldest();
        taken
    }

    /// Removes a decision that was taken and then refused by the run, because it does not fit the
    /// run's state: it counts as not made.
    fn take_back(&mut self, id: &str) {
        self.decided.retain(|decided| !decided.taken || decided.id != id);
    }

    /// Remembers calls that an "always" decision on another call has also decided, so that later
    /// decisions on them are answered accordingly.
    fn note(&mut self, with_others: &[DecidedInterruption]) {
        self.decided.extend_from_slice(with_others);
    }

    /// Drops the oldest of the taken decisions, so that the inbox stays small enough to be carried
    /// over.
    fn forget_oldest(&mut self) {
        let (mut count, mut text) = (0, 0);
        let mut keep: Vec<bool> = Vec::with_capacity(self.decided.len());
        for decided in self.decided.iter().rev() {
            if decided.taken {
                count += 1;
                text += text_len(&decided.decision);
            }
            keep.push(!decided.taken || (count <= MOST_TAKEN && text <= MAX_TAKEN_BYTES));
        }
        // `keep` is in reverse order, so that `pop` returns the flags in the order of `decided`.
        self.decided.retain(|_| keep.pop().unwrap_or(true));
    }
}

fn text_len(decision: &Verdict) -> usize {
    match decision {
        Verdict::Approve => 0,
        Verdict::ApproveWith { arguments } => {
            crate::workflow::limits::size::encoded_len(arguments).unwrap_or(usize::MAX)
        }
        Verdict::Reject { message } => message.as_ref().map_or(0, String::len),
        Verdict::SupplyOutput { output } => output.len(),
    }
}

#[cfg(test)]
mod tests;
