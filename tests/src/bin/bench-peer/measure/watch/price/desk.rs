//! Small runs: with a tool, a question, a pause, and a guardrail inside.

use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool,
    agent::GuardrailOutput,
    agent_handlers,
    client::RunEvents,
    guardrail,
    run::RunOutcome,
    tool,
    wire::{Decision, EventKind, ModelCall},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, DevServerOptions, FakeModel,
    environment::EnvironmentError,
    fake_model::{Reply, text, tool_call},
    history::History,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// A run of two turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    /// The agent calls a tool.
    Tool,
    /// The call waits for an approval, and the workflow with it.
    Question,
    /// The run pauses at the call, and resumes from its state with an approval.
    Pause,
    /// The agent calls another agent.
    Nested,
    /// A guardrail of the other agent trips.
    NestedTrips,
}

/// Pays money back.
///
/// # Arguments
/// * `order` - number of the order
#[tool]
async fn refund(order: u32) -> String {
    format!("refunded {order}")
}

#[guardrail(input)]
fn no_threats(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("or else")).info("a threat")
}

fn desk() -> Agent {
    Agent::new("desk").model("scripted").tool(refund)
}

fn careful_desk() -> Agent {
    Agent::new("careful desk").model("scripted").tool(refund.needs_approval())
}

fn manager() -> Agent {
    let clerk = Agent::new("clerk").model("scripted").input_guardrail(no_threats);
    Agent::new("manager").model("scripted").tool(clerk.as_tool().description("Writes letters."))
}

/// Runs one of the agents.
#[workflow]
#[derive(Default)]
pub(crate) struct Desk {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Desk {
    #[run(name = "price_bench")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, work: Work) -> WorkflowResult<String> {
        let runner = Runner::with_inbox(ctx);
        let result = match work {
            Work::Tool => runner.run(&desk(), "Refund order 7.").await?,
            Work::Question => runner.run(&careful_desk(), "Refund order 7.").await?,
            Work::Nested => runner.run(&manager(), "Write, please.").await?,
            Work::NestedTrips => runner.run(&manager(), "Write, or else!").await?,
            Work::Pause => match runner.run(&careful_desk(), "Refund order 7.").until_paused().await? {
                RunOutcome::Finished(result) => result,
                RunOutcome::Paused(paused) => {
                    let mut state = paused.state;
                    for question in state.interruptions() {
                        state.decide(&question.id, Decision::approve()).expect("it is a question of this state");
                    }
                    runner.run(&careful_desk(), state).await?
                }
            },
        };
        Ok(result.final_output)
    }
}

/// Calls the agent's tool in the first turn, and answers in the second.
fn respond(call: &ModelCall) -> Reply {
    let is_called = call.input.iter().any(|item| item.kind() == "function_call_output");
    match &*call.agent {
        "desk" | "careful desk" if !is_called => tool_call("refund", json!({"order": 7})),
        "manager" if !is_called => {
            let input = call.input.first().and_then(temporal_agents::wire::Item::text).unwrap_or_default();
            tool_call("clerk", json!({ "input": input }))
        }
        _ => text("done"),
    }
}

/// Starts a server with a worker for these runs.
pub(super) async fn environment() -> Result<AgentEnvironment, EnvironmentError> {
    AgentEnvironment::builder()
        .workflow::<Desk>()?
        .model(&FakeModel::function(|call, _| respond(call)))
        .agents((desk, careful_desk, manager))
        .server_options(DevServerOptions::builder().lift_poll_limits(true).build())
        .start()
        .await
}

/// Runs `work`, approves what it asks for, and returns its history.
pub(super) async fn history_of(env: &AgentEnvironment, work: Work) -> anyhow::Result<History> {
    let handle = env.start_workflow(Desk::run, work).await?;
    if work == Work::Question {
        let agent = env.agent_handle(&handle);
        let mut stream = RunEvents::new(env.client()).watch(&*handle.info().workflow_id);
        loop {
            let event = timeout(PATIENCE, stream.next()).await?.context("the run has asked nothing")??;
            if let EventKind::QuestionAsked { question_id, .. } = &event.kind {
                agent.approve(question_id).await?;
                break;
            }
        }
    }
    Ok(env.await_run(&handle).await?.history)
}
