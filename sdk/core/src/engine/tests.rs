mod abandon;
mod answers;
mod approvals;
mod blocked;
mod by_hand;
mod call_ids;
mod context;
mod fits;
mod forgotten;
mod guardrails;
mod handlers;
mod handoffs;
mod incomplete;
mod mcp;
mod native;
mod nested;
mod nested_order;
mod output;
mod phases;
mod refused;
mod resume;
mod rewrite;
mod server;
mod session;
mod too_many_calls;
mod tool_calls;
mod tool_use;
mod turns;
mod values;

use serde_json::json;

use super::*;
use crate::{
    agent::HandoffInputData,
    wire::{
        ModelCall, NewItem, NewItemKind, ToolOutput, ToolSpec,
        run_state::{Decision, PlannedCall, PlannedHandoff, ToolUse, TurnSetup},
    },
};

use by_hand::{ByHand, content, line};
use values::*;
