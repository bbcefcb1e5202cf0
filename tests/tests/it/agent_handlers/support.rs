//! A desk whose refunds wait for a decision, and what the tests ask of its workflow.

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, ToolError, agent_handlers,
    client::{AgentHandle, AgentHandleError},
    tool,
    tool::{HostedTool, RequireApproval},
    wire::{AgentInterruption, AgentState, DecidedInterruption, DecisionAnswer, RunStatus, Verdict, WIRE_VERSION},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun,
    environment::{AgentEnvironmentBuilder, EnvironmentError},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{SyncWorkflowContext, WorkflowContext, WorkflowResult};
use temporalio_workflow::__private::sdk::WorkflowImplementation;
use tokio::time::timeout;

use crate::{PATIENCE, held_model::HeldModel, support::read};

/// Gives money back.
///
/// # Arguments
/// * `order` - number of the order
#[tool]
async fn refund(order: u32) -> Result<String, ToolError> {
    Ok(format!("refunded {order}"))
}

pub(crate) fn desk() -> Agent {
    let crm = HostedTool::mcp("crm", "https://crm.test").require_approval(RequireApproval::Always);
    Agent::new("desk").model("gpt-5").tool(refund.needs_approval()).hosted(crm)
}

/// A request to the desk. A workflow that lingers stays after its run, until it is told to close.
#[workflow]
#[derive(Default)]
pub(crate) struct Desk {
    inbox: AgentInbox,
    closed: bool,
}

#[agent_handlers]
#[workflow_methods]
impl Desk {
    #[run(name = "desk")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (request, lingers): (String, bool),
    ) -> WorkflowResult<String> {
        let result = Runner::with_inbox(ctx).run(&desk(), request).await?;
        if lingers {
            ctx.wait_condition(|desk| desk.closed).await?;
        }
        Ok(result.final_output)
    }

    #[signal]
    pub(crate) fn close(&mut self, _ctx: &mut SyncWorkflowContext<Self>, (): ()) {
        self.closed = true;
    }
}

pub(crate) fn request() -> (String, bool) {
    ("Give me my money back.".to_owned(), false)
}

pub(crate) fn lingering() -> (String, bool) {
    (request().0, true)
}

/// An environment for this workflow, with or without the workflow cache; its model is still to be set.
pub(crate) fn environment<W>(cached: bool) -> Result<AgentEnvironmentBuilder, EnvironmentError>
where
    W: WorkflowImplementation,
    <W::Run as temporalio_common::WorkflowDefinition>::Input: Send,
{
    let builder = AgentEnvironment::builder().workflow::<W>()?;
    Ok(if cached { builder } else { builder.without_workflow_cache() })
}

/// The desk, with a model that answers at once.
pub(crate) async fn desk_with(model: &FakeModel, cached: bool) -> anyhow::Result<AgentEnvironment> {
    Ok(environment::<Desk>(cached)?.model(model).agents((desk,)).start().await?)
}

/// The desk, with a model that waits for the test.
pub(crate) async fn desk_with_held(model: &HeldModel, cached: bool) -> anyhow::Result<AgentEnvironment> {
    Ok(environment::<Desk>(cached)?.model_provider(model.clone()).agents((desk,)).start().await?)
}

/// The state, once it is as `is_it` wants it, and stays so in a second query: the first one may read an event whose
/// workflow task has not begun (without a cache, the worker runs all events), and a decision would overtake it. The
/// server holds the second query back until this task has ended.
pub(crate) async fn state_when(
    agent: &AgentHandle,
    what: &str,
    is_it: impl Fn(&AgentState) -> bool,
) -> anyhow::Result<AgentState> {
    let mut last = None;
    let looking = async {
        loop {
            let seen = agent.state().await?;
            let state = if is_it(&seen) { agent.state().await? } else { seen };
            if is_it(&state) {
                return anyhow::Ok(state);
            }
            last = Some(state);
        }
    };
    let found = timeout(PATIENCE, looking).await;
    found.unwrap_or_else(|_| Err(anyhow::anyhow!("not {what} within {PATIENCE:?}, but: {last:?}")))
}

/// The state, once the run waits.
pub(crate) async fn state_when_waiting(agent: &AgentHandle) -> anyhow::Result<AgentState> {
    state_when(agent, "waiting", |state| state.status == RunStatus::Waiting).await
}

/// What the run itself answers to a decision. Without a cache, the worker may be given the answer that makes the run ask together with the
/// decision on it, which is then kept for the question; the same decision once more is answered.
pub(crate) async fn answer_to(
    decide: impl AsyncFn() -> Result<DecisionAnswer, AgentHandleError>,
) -> anyhow::Result<DecisionAnswer> {
    let deciding = async {
        loop {
            match decide().await? {
                DecisionAnswer::Kept { .. } | DecisionAnswer::Unmatched { .. } => {}
                answer => return anyhow::Ok(answer),
            }
        }
    };
    timeout(PATIENCE, deciding).await.map_err(|_| anyhow::anyhow!("only kept within {PATIENCE:?}"))?
}

/// The state of a run of the desk.
pub(crate) fn state(status: RunStatus, turn: u32) -> AgentState {
    let agent = (turn > 0).then_some("desk");
    read(json!({"version": WIRE_VERSION, "status": status, "agent": agent, "turn": turn}))
}

/// A refund that waits for a decision.
pub(crate) fn interruption(id: &str, order: u32) -> AgentInterruption {
    let arguments = format!("{{\"order\":{order}}}");
    read(json!({"id": id, "agent": "desk", "tool": "refund", "arguments": arguments}))
}

/// A decision that the run has taken.
pub(crate) fn taken(id: &str, decision: Verdict) -> DecidedInterruption {
    read(json!({"id": id, "decision": decision, "taken": true}))
}

/// A decision that waits for its question.
pub(crate) fn kept(id: &str, decision: Verdict) -> DecidedInterruption {
    read(json!({"id": id, "decision": decision, "taken": false}))
}

/// The types of the activities of a run.
pub(crate) fn activity_types<T>(run: &FinishedRun<T>) -> Vec<String> {
    assert_eq!(run.failed_workflow_tasks(), 0);
    run.activities().into_iter().map(|activity| activity.activity_type).collect()
}

/// What tools have given, as the model was told in its last call.
pub(crate) fn last_outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

pub(crate) const MODEL: &str = "agents.call_model";
pub(crate) const REFUND: &str = "agents.tool.refund";
