//! A bank's chat is checked from four sides: by a pure function, by an agent, by a service, and once more when the answer is
//! there.
//!
//! Blocking guardrails are asked before anything else, pure ones first, so that a question they stop costs nothing. The others
//! run beside the first turn: they cost no time, and when one trips, the model call under way is cancelled.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use futures::FutureExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents::{
    Agent, RunError, RunFailure, Runner, ToolDef,
    agent::{Check, GuardrailOutput, InputGuardrail, OutputGuardrail},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Card numbers go to no model.
fn no_card_numbers() -> InputGuardrail {
    InputGuardrail::new("no_card_numbers", |_ctx, input| {
        let text = input.text();
        let mut groups = text.split(|c: char| !c.is_ascii_digit() && c != ' ' && c != '-');
        Ok(groups.any(|group| group.matches(|c: char| c.is_ascii_digit()).count() == 16).into())
    })
    .blocking()
}

/// What the topic judge says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topic {
    pub is_about_banking: bool,
    pub subject: String,
}

/// A small model decides whether the big one is asked at all.
fn about_banking() -> InputGuardrail {
    let judge = Agent::new("topic judge").model("gpt-5-nano").instructions("Say what it is about.").output::<Topic>();
    InputGuardrail::by_agent("about_banking", judge, |topic| {
        GuardrailOutput::trip_if(topic["is_about_banking"] != true).info(&topic["subject"])
    })
    .blocking()
}

/// A service knows what is abuse; it is asked in an activity, beside the first turn.
fn no_abuse() -> InputGuardrail {
    #[derive(Deserialize, JsonSchema)]
    struct Input {
        input: Vec<Value>,
    }
    let ask = ToolDef::activity("no_abuse", "", |_ctx, Input { input }| {
        let is_abuse = input.iter().any(|item| item["content"].to_string().contains("thieves"));
        async move { Ok(serde_json::to_string(&GuardrailOutput::trip_if(is_abuse))?.into()) }.boxed()
    });
    InputGuardrail::with_check("no_abuse", Check::Activity(Box::new(ask.for_guardrail())))
}

/// No answer promises what a bank must not promise.
fn no_promises() -> OutputGuardrail {
    OutputGuardrail::new("no_promises", |_ctx, answer| {
        Ok(answer.as_str().is_some_and(|text| text.contains("guarantee")).into())
    })
}

pub fn teller() -> Agent {
    Agent::new("teller")
        .model("gpt-5")
        .instructions("You answer questions to a bank.")
        .input_guardrail(no_card_numbers())
        .input_guardrail(about_banking())
        .input_guardrail(no_abuse())
        .output_guardrail(no_promises())
}

/// What the customer gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    Answer(String),
    /// A guardrail of this name stopped the question.
    Declined {
        guardrail: String,
        info: Value,
    },
    /// A guardrail of this name held the answer back.
    Withheld {
        guardrail: String,
    },
}

#[workflow]
#[derive(Debug, Default)]
pub struct BankChat;

#[workflow_methods]
impl BankChat {
    /// Answers a question, if it may.
    #[run(name = "guardrails")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<Reply> {
        match Runner::new(ctx).run(&teller(), question).await {
            Ok(result) => Ok(Reply::Answer(result.final_output)),
            Err(RunFailure { error: RunError::InputGuardrailTripped { result, .. }, .. }) => {
                Ok(Reply::Declined { guardrail: result.guardrail, info: result.output_info })
            }
            Err(RunFailure { error: RunError::OutputGuardrailTripped { result, .. }, .. }) => {
                Ok(Reply::Withheld { guardrail: result.guardrail })
            }
            Err(failure) => Err(failure.into()),
        }
    }
}
