//! Plays one cell: a workflow that runs the agent, and who decides, supplies or cancels.

use anyhow::Context;
use temporal_agents::{
    Runner, agent_handlers,
    client::AgentHandle,
    wire::{AgentDecision, AgentState, DecisionAnswer, InterruptionKind, RunStatus},
    workflow::{AgentInbox, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    history::{self, History},
};
use temporalio_client::{WorkflowCancelOptions, WorkflowHandle};
use temporalio_common::{UntypedWorkflow, protos::temporal::api::history::v1::history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use super::{
    agents::{self, FAR_HELPER, HELPER, kind_of},
    bodies::{LARGE, until_at_work},
    cells::{Binding, Cell, Outcome},
    elsewhere, mcp, model,
    seen::Seen,
};
use crate::{PATIENCE, agent_handlers::support::state_when, examples::histories};

/// Runs the agent of a cell, by its name.
#[workflow]
#[derive(Default)]
pub(crate) struct Matrix {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Matrix {
    #[run(name = "matrix")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, name: String) -> WorkflowResult<String> {
        let cell = Cell::of_agent(&name).expect("the test names cells that there are");
        Ok(Runner::with_inbox(ctx).run(&agents::agent(cell), "Go.").await?.final_output)
    }
}

/// Server and workers, for all cells.
pub(super) struct Stage {
    elsewhere: WorkerThread,
    env: AgentEnvironment,
    model: FakeModel,
}

impl Stage {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let model = model::model();
        let mut builder = AgentEnvironment::builder()
            .workflow::<Matrix>()?
            .workflow::<elsewhere::AtLength>()?
            .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents::set()))?
            .model(&model)
            .agents(agents::registered());
        for binding in [Binding::Mcp, Binding::McpOnce] {
            for outcome in Outcome::ALL {
                let cell = Cell { binding, outcome };
                builder = builder.mcp_server(mcp::server(cell), mcp::transport(cell));
            }
        }
        let env = builder.start().await?;
        let elsewhere = elsewhere::start(&env, &model)?;
        Ok(Self { elsewhere, env, model })
    }

    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        self.elsewhere.stop()?;
        Ok(self.env.finish().await?)
    }

    /// Plays a cell to the end of its run; its histories replay.
    pub(super) async fn play(&self, cell: Cell) -> anyhow::Result<Seen> {
        let handle = self.env.start_workflow(Matrix::run, cell.agent()).await?;
        let id = handle.info().workflow_id.clone();
        let at_the_door = self.meanwhile(cell, &id).await?;
        let run = self.env.await_run(&handle).await?;
        let own = histories::<Matrix>(&self.env, &id).await?.pop().context("it has a history")?;
        for (child, _) in children(&own) {
            let of_child = history::fetch(self.env.client(), &child, None).await?;
            self.env.replay(&of_child).await.with_context(|| format!("of child {child}"))?;
        }
        let calls = self.model.calls();
        let told = calls.iter().rev().find(|call| call.agent == cell.agent()).and_then(model::told);
        Ok(Seen { cell, told, kind: kind_of(cell), at_the_door, ended: Seen::end_of(&run), history: own })
    }

    /// What others do while the run is under way; gives what they were refused.
    async fn meanwhile(&self, cell: Cell, id: &str) -> anyhow::Result<Option<String>> {
        let agent = AgentHandle::new(self.env.client(), id);
        if cell.outcome.is_decided() {
            decide(cell, &agent).await?;
        }
        match (cell.binding, cell.outcome) {
            (_, Outcome::Cancelled | Outcome::CancelledElsewhere) => self.cancel(cell, id, &agent).await.map(|()| None),
            (_, Outcome::BadArguments | Outcome::Denied) => Ok(None),
            (Binding::Client, _) => supply(cell, &agent).await,
            _ => Ok(None),
        }
    }

    /// Cancels the run, or what the call has started, once it is at work.
    async fn cancel(&self, cell: Cell, id: &str, agent: &AgentHandle) -> anyhow::Result<()> {
        let child = match cell.binding {
            Binding::ChildWorkflow | Binding::ChildAgent => Some(self.child_of(id).await?),
            _ => None,
        };
        match cell.binding {
            Binding::Client => drop(waits(agent).await?),
            Binding::ChildWorkflow => {}
            Binding::ChildAgent => until_at_work(FAR_HELPER).await?,
            Binding::Agent => until_at_work(HELPER).await?,
            _ => until_at_work(&cell.tool()).await?,
        }
        let cancelled = match cell.outcome {
            Outcome::CancelledElsewhere => child.context("it has a child")?,
            _ => id.to_owned(),
        };
        let handle: WorkflowHandle<_, UntypedWorkflow> = self.env.client().get_workflow_handle(cancelled);
        Ok(handle.cancel(WorkflowCancelOptions::default()).await?)
    }
    /// The child of a workflow, once it has started.
    async fn child_of(&self, id: &str) -> anyhow::Result<String> {
        let looking = async {
            loop {
                let history = history::fetch(self.env.client(), id, None).await?;
                if let Some((child, true)) = children(&history).pop() {
                    return anyhow::Ok(child);
                }
            }
        };
        timeout(PATIENCE, looking).await.map_err(|_| anyhow::anyhow!("no child of {id} started within {PATIENCE:?}"))?
    }
}

/// The children of a workflow, and whether they have started.
fn children(history: &History) -> Vec<(String, bool)> {
    let mut children: Vec<(String, bool)> = Vec::new();
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child)) => {
                children.push((child.workflow_id.clone(), false));
            }
            Some(Attributes::ChildWorkflowExecutionStartedEventAttributes(started)) => {
                let id = started.workflow_execution.as_ref().map(|execution| &execution.workflow_id);
                children
                    .iter_mut()
                    .filter(|(child, _)| Some(child) == id)
                    .for_each(|(_, is_started)| *is_started = true);
            }
            _ => {}
        }
    }
    children
}

/// A person decides.
async fn decide(cell: Cell, agent: &AgentHandle) -> anyhow::Result<()> {
    let waiting = waits(agent).await?;
    let decision = match cell.outcome {
        Outcome::Approved => AgentDecision::approve(waiting),
        _ => AgentDecision::reject(waiting),
    };
    let answer = agent.decide(decision).await?;
    anyhow::ensure!(answer == DecisionAnswer::Accepted, "the decision is taken, and not {answer:?}");
    Ok(())
}

/// A caller supplies the output, which may be too large at first; gives why it was not taken.
async fn supply(cell: Cell, agent: &AgentHandle) -> anyhow::Result<Option<String>> {
    let wants_output =
        |state: &AgentState| state.interruptions.iter().any(|asked| asked.kind == InterruptionKind::Output);
    let asked = state_when(agent, "waiting for an output", wants_output).await?.interruptions;
    let id = &*asked.first().context("it waits for an output")?.id;
    let mut refused = None;
    if cell.outcome == Outcome::Oversized {
        match agent.supply_output(id, "x".repeat(LARGE)).await? {
            DecisionAnswer::Refused { reason } => refused = Some(reason),
            answer => anyhow::bail!("it is too large, and the answer is {answer:?}"),
        }
    }
    let answer = agent.supply_output(id, "fine").await?;
    anyhow::ensure!(answer == DecisionAnswer::Accepted, "the output is taken, and not {answer:?}");
    Ok(refused)
}

/// What the run waits for.
async fn waits(agent: &AgentHandle) -> anyhow::Result<String> {
    let state = state_when(agent, "waiting", |state| state.status == RunStatus::Waiting).await?;
    Ok(state.interruptions.first().context("it waits for something")?.id.clone())
}
