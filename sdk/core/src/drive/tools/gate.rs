//! The gate of the run, for one call.

use std::borrow::Cow;

use serde_json::json;

use super::{Call, before::has_safety_checks};
use crate::{
    drive::{
        env::Env,
        host::{Host, LoopEvent},
        join::join_in_order,
        kept, nested,
    },
    engine::RunError,
    gate::{Gate, GateMode, GateVerdict, GatedCall, JudgeDecision, Judgement},
    tool::{CallInfo, ToolBinding, ToolDef},
    wire::{Item, event::GatedCallNote, kept_decision::NewDecision, run_state::Decision},
};

/// The ruling about a call.
#[derive(PartialEq, Eq)]
pub(super) enum Gated {
    /// The gate has nothing against it, or a person has approved it.
    Open,
    /// A person decides; about each such call, if it has a command.
    Asked { asks_each: bool },
    /// The call is not made; the model gets this message.
    Denied(String),
}

/// Asks the gate about a call. A denial holds whatever a person has decided, except about the
/// output of a call that was made elsewhere: that call has passed the gate.
pub(super) fn ruling<H: Host>(env: &Env<'_, H>, tool: &ToolDef, call: &mut Call<'_>) -> Gated {
    let Some(gate) = gate_of(env, tool) else { return Gated::Open };
    if call.decision.as_ref().is_some_and(|decision| decision.supplied) {
        return Gated::Open;
    }
    let mode = tool.gate_mode();
    let gated = GatedCall { tool: &call.info.tool, place: place_of(tool), arguments: &call.arguments, mode };
    let (by, verdict) = match (gate.verdict(&gated), call.judgement.take()) {
        (GateVerdict::Judge, judgement) => ("judge", of_judge(judgement)),
        (verdict, _) => ("command policy", verdict),
    };
    match verdict {
        GateVerdict::Run { .. } => Gated::Open,
        GateVerdict::Deny { rule, reason } => {
            env.host.observe(&LoopEvent::CallDenied { call: &call.info, rule: rule.as_deref(), reason: &reason });
            let message = format!("[blocked by {by}] {reason}");
            call.gated = Some(note(&call.info, true, rule, reason));
            Gated::Denied(message)
        }
        GateVerdict::Ask { .. } | GateVerdict::Judge => {
            let (rule, reason) = match verdict {
                GateVerdict::Ask { rule, reason } => (rule, reason),
                _ => (None, String::new()),
            };
            let asks_each = gated.has_command();
            // A permanent approval of a tool says nothing about another command.
            if asks_each && call.is_permanent && is_approval(call.decision.as_ref()) {
                call.decision = None;
            }
            if call.decision.is_some() {
                return Gated::Open;
            }
            call.gated = Some(note(&call.info, false, rule, reason));
            Gated::Asked { asks_each }
        }
    }
}

/// Returns the decision on a call that was made in an earlier run and is kept.
pub(super) fn kept_on<H: Host>(env: &Env<'_, H>, tool: &ToolDef, call: &Call<'_>) -> Option<Decision> {
    let is_each_approved =
        || has_safety_checks(tool, call) || gate_of(env, tool).is_some_and(|gate| gate.approves_each(tool.gate_mode()));
    kept::on(env, &call.info.agent, &gated_call(tool, call), is_each_approved)
}

/// Returns the decision on a call, if it is to be kept for later runs.
pub(super) fn to_keep<H: Host>(env: &Env<'_, H>, tool: &ToolDef, call: &Call<'_>) -> Option<NewDecision> {
    let decision = call.decision.as_ref().filter(|_| call.is_for_good)?;
    kept::new(env, &call.info.agent, &gated_call(tool, call), decision)
}

/// Lets the judge of the gate decide about the calls that need it, all at once.
///
/// # Errors
/// [`RunError::Cancelled`]. Any other failure of the judge leaves the decision to a person.
pub(super) async fn judge<H: Host>(env: &Env<'_, H>, turn: u32, calls: &mut [Call<'_>]) -> Result<(), RunError> {
    let Some(gate) = &env.config.gate else { return Ok(()) };
    let Some(judge) = gate.judging_agent() else { return Ok(()) };
    let mut judged = Vec::new();
    let mut judging = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let Some(tool) = call.tool else { continue };
        let is_decided = call.decision.is_some() || kept_on(env, tool, call).is_some();
        if is_decided || call.paused.is_some() || !call.answers.is_empty() {
            continue;
        }
        let gated = gated_call(tool, call);
        if gate.verdict(&gated) == GateVerdict::Judge {
            judged.push(at);
            let asked = json!({"tool": gated.tool, "place": gated.place, "arguments": gated.arguments});
            let input = vec![Item::user(asked.to_string())];
            judging.push(nested::judge_call(env, judge, format!("{turn}-gate-{}", call.index), input));
        }
    }
    let outputs = join_in_order(judging).await;
    for (at, output) in judged.into_iter().zip(outputs) {
        match output {
            Ok(output) => calls[at].judgement = Judgement::read(&output),
            Err(error @ RunError::Cancelled { .. }) => return Err(error),
            Err(error) => {
                let reason = &*error.to_string();
                env.host.observe(&LoopEvent::JudgeFailed { call: &calls[at].info, reason });
            }
        }
    }
    Ok(())
}

/// Returns the gate for calls of this tool: the gate of the run, else one with the mode that its
/// device has announced. If a device has announced none, a person decides about each call: silence
/// is no permission.
fn gate_of<'g, H: Host>(env: &'g Env<'_, H>, tool: &ToolDef) -> Option<Cow<'g, Gate>> {
    let mode = tool.gate_mode();
    let runs_on_device = matches!(tool.binding(), ToolBinding::Remote(binding) if binding.runs_on_device());
    let is_silent_device = runs_on_device && mode.is_none();
    match &env.config.gate {
        Some(gate) if is_silent_device => Some(gate.for_silent_device()),
        Some(gate) => Some(Cow::Borrowed(gate)),
        None if is_silent_device => Some(Cow::Owned(Gate::new(GateMode::ApproveEach))),
        // The gate takes the stricter mode, which is the tool's.
        None => mode.map(|_| Cow::Owned(Gate::new(GateMode::Autonomous))),
    }
}

fn gated_call<'c>(tool: &'c ToolDef, call: &'c Call<'_>) -> GatedCall<'c> {
    let mode = tool.gate_mode();
    GatedCall { tool: &call.info.tool, place: place_of(tool), arguments: &call.arguments, mode }
}

/// Returns the verdict of a judge; without one, a person decides.
fn of_judge(judgement: Option<Judgement>) -> GateVerdict {
    let Some(Judgement { decision, reason }) = judgement else {
        return GateVerdict::Ask { rule: None, reason: "the judge has not decided".to_owned() };
    };
    match decision {
        JudgeDecision::Allow => GateVerdict::Run { rule: None },
        JudgeDecision::Deny => GateVerdict::Deny { rule: None, reason },
        JudgeDecision::Ask => GateVerdict::Ask { rule: None, reason },
    }
}

fn note(info: &CallInfo, is_denied: bool, rule: Option<String>, reason: String) -> GatedCallNote {
    GatedCallNote { call_id: info.call_id.clone(), tool: info.tool.clone(), is_denied, rule, reason }
}

fn is_approval(decision: Option<&Decision>) -> bool {
    decision.is_some_and(|decision| decision.approve)
}

/// Returns the name of the MCP server, or of the toolset, that has the tool; empty for others.
fn place_of(tool: &ToolDef) -> &str {
    match tool.binding() {
        ToolBinding::Mcp(binding) => binding.server().name(),
        ToolBinding::Remote(binding) => binding.toolset(),
        ToolBinding::Inline(_)
        | ToolBinding::Activity { .. }
        | ToolBinding::RemoteActivity(_)
        | ToolBinding::Workflow(_)
        | ToolBinding::ChildWorkflow(_)
        | ToolBinding::ChildAgent(_)
        | ToolBinding::Agent(_)
        | ToolBinding::Client => "",
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(_) => "",
    }
}
