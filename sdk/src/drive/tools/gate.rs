//! The gate of the run, for one call.

use super::Call;
use crate::{
    drive::{
        env::Env,
        host::{Host, LoopEvent},
    },
    gate::{GateVerdict, GatedCall},
    tool::{CallInfo, ToolBinding, ToolDef},
    wire::{event::GatedCallNote, run_state::Decision},
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
    let Some(gate) = &env.config.gate else { return Gated::Open };
    if call.decision.as_ref().is_some_and(|decision| decision.supplied) {
        return Gated::Open;
    }
    let gated = GatedCall { tool: &call.info.tool, place: place_of(tool), arguments: &call.arguments };
    match gate.verdict(&gated) {
        GateVerdict::Run { .. } => Gated::Open,
        GateVerdict::Deny { rule, reason } => {
            env.host.observe(&LoopEvent::CallDenied { call: &call.info, rule: rule.as_deref(), reason: &reason });
            let message = format!("[blocked by command policy] {reason}");
            call.gated = Some(note(&call.info, true, rule, reason));
            Gated::Denied(message)
        }
        GateVerdict::Ask { rule, reason } => {
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
