//! The activities of the floors.

#![allow(missing_docs, missing_debug_implementations, reason = "#[activities] generates items without either")]

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::bench::{script, spec::Spec};

/// The activities of the floors.
#[derive(Debug)]
pub struct FloorActivities;

/// The request to the hand-written model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FloorRequest {
    pub(super) instructions: String,
    pub(super) input: Vec<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) handoffs: Vec<Value>,
}

/// The arguments of the tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub(super) q: String,
    pub(super) n: usize,
}

#[activities]
#[expect(clippy::unused_async, reason = "the macro takes async functions for async activities")]
impl FloorActivities {
    /// The smallest possible activity.
    #[activity(name = "floor_act")]
    pub async fn act(_ctx: ActivityContext, _input: String) -> Result<String, ActivityError> {
        Ok("ok".to_owned())
    }

    /// The scripted model with plain JSON.
    #[activity(name = "floor_model")]
    pub async fn model(_ctx: ActivityContext, request: FloorRequest) -> Result<Value, ActivityError> {
        Ok(answer(&request)?)
    }

    /// The tool `lookup`.
    #[activity(name = "lookup")]
    pub async fn lookup(_ctx: ActivityContext, question: Question) -> Result<String, ActivityError> {
        Ok(script::filler(&question.q, question.n))
    }
}

fn answer(request: &FloorRequest) -> anyhow::Result<Value> {
    let said = request.input.first().and_then(|item| item["content"].as_str()).context("there is no user message")?;
    let spec: Spec = serde_json::from_str(said)?;
    let is_result = |item: &&Value| script::is_tool_result(item["type"].as_str(), item["call_id"].as_str());
    let done = u32::try_from(request.input.iter().filter(is_result).count())?;
    let output = match request.handoffs.first().and_then(|handoff| handoff["tool_name"].as_str()) {
        Some(name) => script::handoff(name),
        None => script::answer(&spec, done),
    };
    Ok(json!({
        "output": output, "response_id": script::response_id(done),
        "usage": {"requests": 1, "input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
    }))
}

/// Returns the tool as the model gets it.
pub(super) fn lookup_tool() -> Value {
    json!({
        "type": "function", "name": script::TOOL, "description": "Look a fact up.", "strict": true,
        "parameters": {
            "type": "object", "additionalProperties": false, "required": ["q", "n"],
            "properties": {
                "q": {"type": "string", "description": "what to look up"},
                "n": {"type": "integer", "description": "how many bytes to return"},
            },
        },
    })
}
