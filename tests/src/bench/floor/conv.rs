//! A hand-written agent loop with plain JSON, which sends the whole conversation with each call.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::time::Duration;

use serde_json::{Value, json};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ActivityOptions, WorkflowContext, WorkflowResult};

use super::{
    FloorActivities,
    activities::{FloorRequest, Question, lookup_tool},
};
use crate::bench::{
    script::TOOL,
    spec::{Kind, Spec},
};

/// Runs a hand-written agent loop.
#[workflow]
#[derive(Debug, Default)]
pub struct FloorConv;

#[workflow_methods]
impl FloorConv {
    /// Returns the final output.
    #[run(name = "floor_conv")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, spec: Spec) -> WorkflowResult<String> {
        let mut request = begin(&spec);
        loop {
            let response = ctx.execute_activity(FloorActivities::model, request.clone(), options()).await?;
            let output = response["output"].as_array().cloned().unwrap_or_default();
            request.input.extend(output.iter().cloned());
            let mut calls = output.iter().filter(|item| item["type"] == "function_call").peekable();
            if calls.peek().is_none() {
                let text = output.last().and_then(|item| item["content"][0]["text"].as_str());
                return Ok(text.unwrap_or_default().to_owned());
            }
            for call in calls {
                let output = if call["name"] == TOOL {
                    ctx.execute_activity(FloorActivities::lookup, question(call), options()).await?
                } else {
                    request.tools = vec![lookup_tool()];
                    request.handoffs.clear();
                    json!({"assistant": "specialist"}).to_string()
                };
                let item = json!({"type": "function_call_output", "call_id": call["call_id"], "output": output});
                request.input.push(item);
            }
        }
    }
}

fn options() -> ActivityOptions {
    ActivityOptions::start_to_close_timeout(Duration::from_mins(1))
}

fn begin(spec: &Spec) -> FloorRequest {
    let handoff = json!({"tool_name": "transfer_to_specialist", "tool_description": "Looks facts up"});
    FloorRequest {
        instructions: "You answer with the lookup tool.".to_owned(),
        input: vec![json!({"role": "user", "content": spec.message()})],
        tools: if spec.kind == Kind::Tools { vec![lookup_tool()] } else { Vec::new() },
        handoffs: if spec.kind == Kind::Handoff { vec![handoff] } else { Vec::new() },
    }
}

/// Parses the model's arguments. Other arguments are an error in the script of this benchmark, and
/// result in an empty question.
fn question(call: &Value) -> Question {
    let arguments = call["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
    arguments.unwrap_or_else(|| Question { q: String::new(), n: 0 })
}
