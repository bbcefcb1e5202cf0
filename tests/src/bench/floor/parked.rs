//! Two workflows of the plain SDK that wait: one that has made its activities, and a chat written
//! by hand. Their memory is the lower bound of that of parked chats.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::{error::Error, time::Duration};

use serde_json::{Value, json};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ActivityOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult};

use super::{
    FloorActivities,
    activities::{FloorRequest, lookup_tool},
};

type BoxError = Box<dyn Error + Send + Sync>;

/// Makes this number of minimal activities, and waits for its end.
#[workflow]
#[derive(Debug, Default)]
pub struct ParkedBare {
    is_parked: bool,
    is_over: bool,
}

#[workflow_methods]
impl ParkedBare {
    /// Returns once it was told to end.
    #[run(name = "parked_bare")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, activities: u32) -> WorkflowResult<String> {
        for _ in 0..activities {
            ctx.execute_activity(FloorActivities::act, "x".to_owned(), options()).await?;
        }
        ctx.state_mut(|parked| parked.is_parked = true);
        ctx.wait_condition(|parked| parked.is_over).await?;
        Ok("ok".to_owned())
    }

    #[query(name = "is_parked")]
    pub fn is_parked(&self, _ctx: &WorkflowContextView) -> bool {
        self.is_parked
    }

    #[signal(name = "end")]
    pub fn end(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_over = true;
    }
}

/// Answers messages, which are updates, by one activity each with the whole conversation, and keeps
/// nothing but the conversation.
#[workflow]
#[derive(Debug, Default)]
pub struct ParkedConv {
    conversation: Vec<Value>,
    message: Option<String>,
    is_over: bool,
}

#[workflow_methods]
impl ParkedConv {
    /// Returns once it was told to end.
    #[run(name = "parked_conv")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        loop {
            ctx.wait_condition(|chat| chat.message.is_some() || chat.is_over).await?;
            let Some(text) = ctx.state(|chat| chat.message.clone()) else { return Ok("ok".to_owned()) };
            let mut input = ctx.state(|chat| chat.conversation.clone());
            input.push(json!({"role": "user", "content": text}));
            let request = FloorRequest {
                instructions: "You answer with the lookup tool.".to_owned(),
                input: input.clone(),
                tools: vec![lookup_tool()],
                handoffs: Vec::new(),
            };
            let response = ctx.execute_activity(FloorActivities::model, request, options()).await?;
            input.extend(response["output"].as_array().cloned().unwrap_or_default());
            ctx.state_mut(|chat| (chat.conversation, chat.message) = (input, None));
        }
    }

    /// Sends a message, and returns the answer.
    #[update(name = "say")]
    pub async fn say(ctx: &mut WorkflowContext<Self>, text: String) -> Result<String, BoxError> {
        ctx.state_mut(|chat| chat.message = Some(text));
        ctx.wait_condition(|chat| chat.message.is_none()).await?;
        let text = |chat: &Self| chat.conversation.last()?["content"][0]["text"].as_str().map(str::to_owned);
        Ok(ctx.state(text).unwrap_or_default())
    }

    #[signal(name = "end")]
    pub fn end(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_over = true;
    }
}

fn options() -> ActivityOptions {
    ActivityOptions::start_to_close_timeout(Duration::from_mins(1))
}
