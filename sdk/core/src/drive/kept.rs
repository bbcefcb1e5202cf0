//! The decisions that hold beyond their run: those of the run's user, read when the run begins.
//!
//! # Design
//! **A kept decision answers the question that a call would ask.** The denials of the gate, the
//! guardrails of the tool and its schema hold as before.
//!
//! **An approval is never wider than what the person saw.** On a command it holds for the same
//! arguments; on any other call for the tool, in the same place, for the same agent. A run with
//! untrusted content ignores it, and so does a gate in whose mode a person approves each call.
//!
//! **A hosted MCP server is a place of its own,** `hosted:` and its label: a decision about it says
//! nothing about the worker's server of that name. The gate does not see the calls of such a
//! server, but its mode `approve_each` holds. The decision answers the request as a function of the
//! author would, and is kept when the run resumes with it.
//!
//! **The run reads them once.** They are a part of its state, so that nothing which changes later
//! changes what a replay does. A store that fails when a decision is to be kept does not end the
//! run: the decision holds in the run as one that is not kept, and the failure is logged.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
    collections::BTreeSet,
};

use serde_json::Value;

use super::{
    env::Env,
    host::{Host, KeptDecisionsEffect, LoopEvent, SourceEffectError},
    toolsets::with_causes,
};
use crate::{
    engine::{Engine, RunError},
    gate::GatedCall,
    tool::CallInfo,
    wire::{
        Decision, Item, ModelResponse, RunState,
        kept_decision::{KeptDecision, KeptDecisions, NewDecision},
        run_state::{McpApproval, Phase},
    },
};

/// The patch of runs that also keep decisions on the approval requests of hosted MCP servers.
const DECISIONS_ON_REQUESTS_KEPT: &str = "temporal-agents/decisions-on-hosted-mcp-kept";

/// The patch of runs that keep decisions: an open run does not begin to when the setting is turned
/// on.
const DECISIONS_KEPT: &str = "temporal-agents/decisions-kept";

/// Kind of the item with which a hosted MCP server requests approval.
const MCP_APPROVAL_REQUEST: &str = "mcp_approval_request";

/// Most decisions that a run knows; of more, the newest.
const MOST_DECISIONS: usize = 256;

/// Most characters of a message of a kept decision.
const MOST_MESSAGE_CHARS: usize = 256;

/// Most bytes of the arguments that are stored for people.
const MOST_ARGUMENT_BYTES: usize = 4 * 1024;

/// The decisions that are kept for the user of a run, for the run and its nested runs.
#[derive(Default)]
pub(super) struct Kept {
    decisions: RefCell<Option<KeptDecisions>>,
    /// `true` if the state of the outermost run does not have all of them.
    has_news: Cell<bool>,
}

impl Kept {
    /// Takes over the decisions of the state with which a run begins.
    pub(super) fn take_over(&self, state: &RunState) {
        self.decisions.replace(state.kept.clone());
    }

    /// Adds to the state of the outermost run the decisions that it does not have.
    pub(super) fn write_to(&self, engine: &mut Engine, is_outermost: bool) {
        if is_outermost && self.has_news.take() {
            engine.kept_mut().clone_from(&self.decisions.borrow());
        }
    }

    fn user(&self) -> Option<String> {
        self.decisions.borrow().as_ref().map(|kept| kept.user.clone())
    }

    fn has_any(&self) -> bool {
        self.decisions.borrow().as_ref().is_some_and(|kept| !kept.decisions.is_empty())
    }

    fn on(&self, call: &KeptDecision) -> Option<Decision> {
        let kept = self.decisions.borrow();
        let found = kept.as_ref()?.decisions.iter().find(|kept| kept.is_about_the_same(call))?;
        Some(found.decision.clone())
    }

    fn add(&self, decision: KeptDecision) {
        if let Some(kept) = &mut *self.decisions.borrow_mut() {
            kept.decisions.retain(|earlier| !earlier.is_about_the_same(&decision));
            kept.decisions.insert(0, decision);
            kept.decisions.truncate(MOST_DECISIONS);
            self.has_news.set(true);
        }
    }
}

/// Reads the decisions that are kept for the user, if the run keeps decisions.
///
/// # Errors
/// [`RunError::User`] without a user, or if the store cannot be read.
pub(super) async fn find<H: Host>(env: &Env<'_, H>) -> Result<(), RunError> {
    if !env.config.keep_decisions || !env.host.patched(DECISIONS_KEPT) {
        return Ok(());
    }
    let agent = env.graph.start();
    let refused = |message: String| RunError::User { agent: agent.to_owned(), message, has_run_data: false };
    let Some(user) = env.config.user.clone() else {
        let message = "the run keeps decisions and has no user to keep them for; set the user of the run, or \
                       keep_decisions to false";
        return Err(refused(message.to_owned()));
    };
    let effect = KeptDecisionsEffect { id: env.effect("kept"), user: user.clone(), keep: None, agent };
    let mut decisions = env.host.kept_decisions(effect, &env.scope).await.map_err(|error| match error {
        SourceEffectError::Cancelled => RunError::Cancelled { agent: agent.to_owned(), turn: 0 },
        SourceEffectError::Failed(source) => {
            let reason = with_causes(&*source);
            refused(format!("the decisions that are kept for user {user:?} could not be read: {reason}"))
        }
    })?;
    decisions.truncate(MOST_DECISIONS);
    env.kept.decisions.replace(Some(KeptDecisions { user, decisions }));
    env.kept.has_news.set(true);
    Ok(())
}

/// Returns the kept decision on a call. `is_each_approved`: a person approves each call.
pub(super) fn on<H: Host>(
    env: &Env<'_, H>,
    agent: &str,
    call: &GatedCall<'_>,
    is_each_approved: impl FnOnce() -> bool,
) -> Option<Decision> {
    if !env.kept.has_any() {
        return None;
    }
    let decision = env.kept.on(&about(agent, call, Decision::approve()))?;
    let holds = !decision.approve || !(env.is_untrusted() || is_each_approved());
    holds.then_some(decision)
}

/// Returns the decision on a call as it is kept, if it is not kept yet.
pub(super) fn new<H: Host>(
    env: &Env<'_, H>,
    agent: &str,
    call: &GatedCall<'_>,
    decision: &Decision,
) -> Option<NewDecision> {
    env.kept.user()?;
    if decision.supplied {
        return None;
    }
    let message = decision.message.as_ref().map(|message| message.chars().take(MOST_MESSAGE_CHARS).collect());
    let decision = Decision { message, arguments: None, ..decision.clone() };
    let decision = about(agent, call, decision);
    if env.kept.on(&decision).as_ref() == Some(&decision.decision) {
        return None;
    }
    let end = call.arguments.floor_char_boundary(MOST_ARGUMENT_BYTES);
    Some(NewDecision { decision, arguments: call.arguments[..end].to_owned() })
}

/// Keeps the decisions on calls of a turn.
///
/// # Errors
/// [`RunError::Cancelled`]. A store that fails is logged.
pub(super) async fn keep<H: Host>(
    env: &Env<'_, H>,
    turn: u32,
    decided: impl Iterator<Item = (usize, CallInfo, NewDecision)>,
) -> Result<(), RunError> {
    for (index, info, new) in decided {
        let Some(user) = env.kept.user() else { return Ok(()) };
        let (id, decision) = (env.effect(format_args!("{turn}-kept-{index}")), new.decision.clone());
        let effect = KeptDecisionsEffect { id, user, keep: Some(new), agent: &info.agent };
        match env.host.kept_decisions(effect, &env.scope).await {
            Ok(_) => env.kept.add(decision),
            Err(SourceEffectError::Cancelled) => return Err(RunError::Cancelled { agent: info.agent, turn }),
            Err(SourceEffectError::Failed(source)) => {
                let reason = &*with_causes(&*source);
                env.host.observe(&LoopEvent::DecisionNotKept { call: &info, reason });
            }
        }
    }
    Ok(())
}

/// Returns the kept decision on an approval request of a hosted MCP server.
pub(super) fn on_request<H: Host>(env: &Env<'_, H>, agent: &str, request: &Item) -> Option<Decision> {
    let is_each_approved = || env.config.gate.as_ref().is_some_and(|gate| gate.approves_each(None));
    as_call(request, |call| on(env, agent, call, is_each_approved))
}

/// Returns the ids of the approval requests in a response that kept decisions answer. A function of
/// the author goes before them.
///
/// # Errors
/// Those of [`Env::agent`].
pub(super) fn on_requests<H: Host>(
    env: &Env<'_, H>,
    agent: &str,
    response: &ModelResponse,
) -> Result<BTreeSet<String>, RunError> {
    if !env.kept.has_any() {
        return Ok(BTreeSet::new());
    }
    let functions = &env.agent(agent)?.answers_approvals;
    let is_kept = |request: &&Item| {
        request.kind() == MCP_APPROVAL_REQUEST
            && !functions.contains_key(member(request, "server_label"))
            && on_request(env, agent, request).is_some()
    };
    let kept = response.output.iter().filter(is_kept).filter_map(Item::id).map(str::to_owned);
    let kept: BTreeSet<String> = kept.collect();
    let holds = !kept.is_empty() && env.host.patched(DECISIONS_ON_REQUESTS_KEPT);
    Ok(if holds { kept } else { BTreeSet::new() })
}

/// Keeps the decisions on approval requests with which a run resumes.
///
/// # Errors
/// Those of [`keep`].
pub(super) async fn keep_on_requests<H: Host>(env: &Env<'_, H>, engine: &Engine, agent: &str) -> Result<(), RunError> {
    let state = engine.state();
    let Phase::ResumeDue { round } = &state.phase else { return Ok(()) };
    let decided = |(index, question): (usize, &McpApproval)| {
        let is_new = question.waits_for_a_person() && state.approvals.is_mcp_for_good(question);
        let decision = state.approvals.on_mcp(question).filter(|_| is_new)?;
        let new = as_call(&question.request, |call| new(env, agent, call, decision))?;
        let info = CallInfo::new(&*question.tool, &*question.request_id, agent, state.turn);
        // After the indexes of the calls of the turn.
        Some((round.calls.len() + index, info, new))
    };
    let decided: Vec<_> = round.mcp_approvals.iter().enumerate().filter_map(decided).collect();
    if decided.is_empty() || !env.host.patched(DECISIONS_ON_REQUESTS_KEPT) {
        return Ok(());
    }
    keep(env, state.turn, decided.into_iter()).await
}

/// Passes an approval request on as the call that it is about.
fn as_call<T>(request: &Item, read: impl FnOnce(&GatedCall<'_>) -> T) -> T {
    let place = format!("hosted:{}", member(request, "server_label"));
    let arguments = match request.get("arguments") {
        Some(Value::String(text)) => Cow::Borrowed(&**text),
        Some(other) => Cow::Owned(other.to_string()),
        None => Cow::Borrowed(""),
    };
    read(&GatedCall { tool: member(request, "name"), place: &place, arguments: &arguments, mode: None })
}

fn member<'i>(request: &'i Item, name: &str) -> &'i str {
    request.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn about(agent: &str, call: &GatedCall<'_>, decision: Decision) -> KeptDecision {
    let on_tool = KeptDecision::on_tool(agent, call.tool, call.place, decision);
    if !call.has_command() {
        return on_tool;
    }
    let text = || Value::String(call.arguments.to_owned());
    on_tool.with_arguments(&serde_json::from_str(call.arguments).unwrap_or_else(|_| text()))
}
