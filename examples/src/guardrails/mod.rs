//! A bank's chat has four checks: a pure function, an agent, a service, and a check of the final
//! output.
//!
//! Blocking guardrails run before the first turn, pure ones first, so that a question that a pure
//! one stops makes no model call. The others run beside the first turn: they add no latency, and if
//! one trips, the model call in progress is cancelled.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents::{
    Agent, RunError, RunFailed, Runner,
    agent::{GuardrailOutput, InputGuardrail},
    guardrail,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Trips if the input contains a card number, which must not reach a model.
#[guardrail(input, blocking)]
fn no_card_numbers(input: &str) -> GuardrailOutput {
    let mut groups = input.split(|c: char| !c.is_ascii_digit() && c != ' ' && c != '-');
    GuardrailOutput::trip_if(groups.any(|group| group.matches(|c: char| c.is_ascii_digit()).count() >= 13))
}

/// What the topic judge says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topic {
    pub is_about_banking: bool,
    pub subject: String,
}

/// Returns a guardrail in which a small model decides if the large one is called at all.
fn about_banking() -> InputGuardrail {
    let judge = Agent::new("topic judge").model("gpt-5-nano").instructions("Say what it is about.").output::<Topic>();
    InputGuardrail::by_agent("about_banking", judge, |topic| {
        GuardrailOutput::trip_if(topic["is_about_banking"] != true).info(&topic["subject"])
    })
    .blocking()
}

/// Trips if a service classifies the input as abuse.
#[guardrail(input, activity)]
async fn no_abuse(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("thieves")) // an activity: call the service here
}

/// Trips if the answer makes a promise that a bank must not make.
#[guardrail(output)]
fn no_promises(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("guarantee"))
}

pub fn teller() -> Agent {
    Agent::new("teller")
        .model("gpt-5")
        .instructions("You answer questions to a bank.")
        .input_guardrail(no_card_numbers)
        .input_guardrail(about_banking())
        .input_guardrail(no_abuse)
        .output_guardrail(no_promises)
}

/// The reply to the customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    Answer(String),
    /// A guardrail of this name stopped the question.
    Declined {
        guardrail: String,
        info: Value,
    },
    /// A guardrail of this name withheld the answer.
    Withheld {
        guardrail: String,
    },
}

#[workflow]
#[derive(Debug, Default)]
pub struct BankChat;

#[workflow_methods]
impl BankChat {
    /// Answers a question, unless a guardrail trips.
    #[run(name = "guardrails")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<Reply> {
        match Runner::new(ctx).run(&teller(), question).await {
            Ok(result) => Ok(Reply::Answer(result.final_output)),
            Err(RunFailed { error: RunError::InputGuardrailTripped { result, .. }, .. }) => {
                Ok(Reply::Declined { guardrail: result.guardrail, info: result.output_info })
            }
            Err(RunFailed { error: RunError::OutputGuardrailTripped { result, .. }, .. }) => {
                Ok(Reply::Withheld { guardrail: result.guardrail })
            }
            Err(failure) => Err(failure.into()),
        }
    }
}
