//! The gate of the run, for one call.

use super::Call;
use crate::{
    drive::{
        env::Env,
        host::{Host, LoopEvent},
    },
    gate::{GateVerdict, GatedCall},
    tool::{ToolBinding, ToolDef},
    wire::run_state::Decision,
};

/// The ruling about a call.
#[derive(PartialEq, Eq)]
pub(super) enum Gated {
    /// The gate has nothing against it, or a person has approved it.
    Open,
    /// A person decides.
    Asked,
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
            Gated::Denied(format!("[blocked by command policy] {reason}"))
        }
        GateVerdict::Ask { .. } => {
            // A permanent approval of a tool says nothing about another command.
            if call.is_permanent && gated.has_command() && is_approval(call.decision.as_ref()) {
                call.decision = None;
            }
            if call.decision.is_none() { Gated::Asked } else { Gated::Open }
        }
    }
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
