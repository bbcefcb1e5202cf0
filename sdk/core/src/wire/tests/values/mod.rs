//! The messages behind the golden files: one with every member, one with as few as may be.

mod agent_handlers;
mod agent_spec;
mod approval;
mod carried;
mod definitions;
mod delta_window;
pub(in crate::wire) mod event;
mod failures;
mod items;
mod kept_decision;
mod mcp_call;
mod model_call;
mod nexus_endpoint;
mod ready_made;
mod run_state;
mod session_call;
mod session_checkpoint;
mod tool_batch;
mod tool_call;
mod toolset;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::wire::{TraceSettings, TracingConfig};

pub(super) use agent_handlers::*;
pub(super) use agent_spec::*;
pub(super) use approval::*;
pub(super) use carried::*;
pub(super) use definitions::definitions;
pub(super) use delta_window::*;
pub(super) use event::*;
pub(super) use failures::*;
pub(super) use items::{item, items};
pub(super) use kept_decision::*;
pub(super) use mcp_call::*;
pub(super) use model_call::*;
pub(super) use nexus_endpoint::*;
pub(super) use ready_made::*;
pub(super) use run_state::run_states;
pub(super) use session_call::*;
pub(super) use session_checkpoint::*;
pub(super) use tool_batch::*;
pub(super) use tool_call::*;
pub(super) use toolset::*;

pub(in crate::wire::tests) fn trace_settings() -> TraceSettings {
    TraceSettings {
        workflow_name: Some("Support".to_owned()),
        trace_id: Some("trace_0af7651916cd43dd8448eb211c80319c".to_owned()),
        group_id: Some("chat-7".to_owned()),
        metadata: BTreeMap::from([("customer.tier".to_owned(), json!("gold")), ("attempt".to_owned(), json!(2))]),
        include_sensitive_data: Some(false),
        disabled: true,
        tracing: Some(TracingConfig::to_collector("team-a")),
    }
}

fn object(json: Value) -> Map<String, Value> {
    let Value::Object(map) = json else { panic!("an object literal") };
    map
}
