//! Looks at a workflow's run and decides for it, from outside and by workflow id alone.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowQueryOptions,
    errors::{WorkflowQueryError, WorkflowUpdateError},
};
use temporalio_common::{QueryDefinition, UntypedWorkflow, UpdateDefinition};
use tokio::time::sleep;

use crate::wire::{
    AGENT_DECIDE, AGENT_STATE, AGENT_SUPPLY_OUTPUT, AgentDecision, AgentInterruption, AgentState, AgentStatus,
    DecisionAnswer, DecisionReply, SuppliedOutput, WireDecodeError, decode,
};

use crate::wire::error_debug;

/// The gRPC status of a query that the workflow itself has failed.
const INVALID_ARGUMENT: i32 = 3;

/// How long [`AgentHandle::wait_until_asked`] waits before it asks again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// A workflow with `#[agent_handlers]`, as its callers see it. It needs no type of the workflow.
///
/// ```no_run
/// use temporal_agents::{wire::DecisionAnswer, worker::AgentHandle};
/// # async fn decide(client: &temporalio_client::Client) -> Result<(), Box<dyn std::error::Error>> {
///
/// let agent = AgentHandle::new(client, "refund-7");
/// for call in agent.wait_until_asked().await? {
///     println!("{} wants {}({})", call.agent, call.tool, call.arguments);
///     assert_eq!(agent.approve(&call.id).await?, DecisionAnswer::Accepted);
/// }
/// # Ok(())
/// # }
/// ```
///
/// After continue-as-new it is the same workflow, with the same inbox.
#[derive(Clone)]
pub struct AgentHandle {
    workflow: Arc<WorkflowHandle<Client, UntypedWorkflow>>,
    /// Who decides through it, where the decision does not say so.
    by: Option<String>,
}

/// Why the workflow could not be asked. What it says to a decision is no error, see [`DecisionAnswer`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AgentHandleError {
    /// There is no such workflow, or it has ended.
    #[error("workflow {workflow_id:?} is not there, or has ended")]
    NotFound {
        /// The workflow.
        workflow_id: String,
    },
    /// The workflow has no such handler, or does not understand the message.
    #[error("workflow {workflow_id:?} refused the message: {message}; has it #[agent_handlers]?")]
    Refused {
        /// The workflow.
        workflow_id: String,
        /// What it says.
        message: String,
    },
    /// The query failed.
    #[error("the state could not be asked for: {0}")]
    Query(#[source] WorkflowQueryError),
    /// The update failed.
    #[error("the update could not be sent: {0}")]
    Update(#[source] WorkflowUpdateError),
    /// The answer is of another release.
    #[error(transparent)]
    Answer(#[from] WireDecodeError),
}

error_debug!(enum AgentHandleError {
    NotFound { workflow_id },
    Refused { workflow_id, message },
    Query(source),
    Update(source),
    Answer(source),
});

impl AgentHandle {
    /// Speaks to the latest run of the workflow with this id; nothing is sent yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        Self { workflow: Arc::new(client.get_workflow_handle(workflow_id)), by: None }
    }

    /// Returns a handle whose decisions carry this name, in history and in the transcript, unless a
    /// decision has a name of its own. The first 256 characters are kept; see [`AgentDecision::by`].
    ///
    /// ```no_run
    /// # use temporal_agents::worker::AgentHandle;
    /// # async fn example(agent: AgentHandle) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.by("ann@shop.test").approve("call_1").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn by(&self, name: impl Into<String>) -> Self {
        Self { workflow: Arc::clone(&self.workflow), by: Some(name.into()) }
    }

    /// Asks how far the run is, and what it waits for. A worker must be there to answer, also after the workflow has ended: who asks again and
    /// again looks at the `status`, too, and not only for `interruptions`, which a run that has failed never has.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn state(&self) -> Result<AgentState, AgentHandleError> {
        let asked = self.workflow.query(State, (), WorkflowQueryOptions::default()).await;
        let state = asked.map_err(|error| query_error(&self.workflow_id(), error))?;
        Ok(decode("agent state", state)?)
    }

    /// Waits until the run needs somebody, and gives what it waits for; nothing when it has ended instead. It asks twice a second, for as long as
    /// it takes: put a `tokio::time::timeout` around it where that may be too long.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn wait_until_asked(&self) -> Result<Vec<AgentInterruption>, AgentHandleError> {
        loop {
            let AgentState { status, interruptions, .. } = self.state().await?;
            match status {
                AgentStatus::Idle | AgentStatus::Running => sleep(BETWEEN_LOOKS).await,
                _ => return Ok(interruptions),
            }
        }
    }

    /// Approves a call: it is made. Waits until a worker has taken the decision in; sent again, it counts once.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn approve(&self, interruption_id: impl Into<String>) -> Result<DecisionAnswer, AgentHandleError> {
        self.decide(AgentDecision::approve(interruption_id)).await
    }

    /// Rejects a call: it is not made, and the model gets this text. Waits like [`approve`](Self::approve).
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn reject(
        &self,
        interruption_id: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        self.decide(AgentDecision::reject_with(interruption_id, message)).await
    }

    /// Decides: also without a message, or [for good](AgentDecision::always). Waits like [`approve`](Self::approve).
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn decide(&self, mut decision: AgentDecision) -> Result<DecisionAnswer, AgentHandleError> {
        if let (None, Some(name)) = (&decision.by, &self.by) {
            decision = decision.by(name);
        }
        let reply = self.workflow.execute_update(Decide, decision, WorkflowExecuteUpdateOptions::default()).await;
        self.answer(reply)
    }

    /// Supplies the output of a call that its caller has made; the tool does not run. Waits like [`approve`](Self::approve).
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn supply_output(
        &self,
        interruption_id: impl Into<String>,
        output: impl Into<Value>,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        let mut supplied = SuppliedOutput::new(interruption_id, output);
        if let Some(name) = &self.by {
            supplied = supplied.by(name);
        }
        let reply = self.workflow.execute_update(SupplyOutput, supplied, WorkflowExecuteUpdateOptions::default()).await;
        self.answer(reply)
    }

    fn answer(&self, reply: Result<Value, WorkflowUpdateError>) -> Result<DecisionAnswer, AgentHandleError> {
        let reply = reply.map_err(|error| update_error(&self.workflow_id(), error))?;
        let DecisionReply { version: _, answer } = decode("decision reply", reply)?;
        Ok(answer)
    }

    fn workflow_id(&self) -> String {
        self.workflow.info().workflow_id.clone()
    }
}

/// Why a workflow has not answered a query.
pub(crate) fn query_error(workflow_id: &str, error: WorkflowQueryError) -> AgentHandleError {
    let workflow_id = workflow_id.to_owned();
    match error {
        WorkflowQueryError::NotFound(_) => AgentHandleError::NotFound { workflow_id },
        WorkflowQueryError::Rpc(status) if i32::from(status.code()) == INVALID_ARGUMENT => {
            AgentHandleError::Refused { workflow_id, message: status.message().to_owned() }
        }
        other => AgentHandleError::Query(other),
    }
}

/// Why a workflow has not taken an update.
pub(crate) fn update_error(workflow_id: &str, error: WorkflowUpdateError) -> AgentHandleError {
    let workflow_id = workflow_id.to_owned();
    match error {
        WorkflowUpdateError::NotFound(_) => AgentHandleError::NotFound { workflow_id },
        WorkflowUpdateError::Failed(failure) => {
            let innermost = std::iter::successors(Some(&*failure), |failure| failure.cause.as_deref()).last();
            let message = innermost.map(|failure| failure.message.clone()).unwrap_or_default();
            AgentHandleError::Refused { workflow_id, message }
        }
        other => AgentHandleError::Update(other),
    }
}

impl std::fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentHandle").field(&self.workflow.info().workflow_id).finish()
    }
}

/// The handlers as their callers see them. Results are read as JSON first, so that their version can be checked.
struct State;
struct Decide;
struct SupplyOutput;

impl QueryDefinition for State {
    type Workflow = UntypedWorkflow;
    type Input = ();
    type Output = Value;

    fn name(&self) -> &str {
        AGENT_STATE
    }
}

impl UpdateDefinition for Decide {
    type Workflow = UntypedWorkflow;
    type Input = AgentDecision;
    type Output = Value;

    fn name(&self) -> &str {
        AGENT_DECIDE
    }
}

impl UpdateDefinition for SupplyOutput {
    type Workflow = UntypedWorkflow;
    type Input = SuppliedOutput;
    type Output = Value;

    fn name(&self) -> &str {
        AGENT_SUPPLY_OUTPUT
    }
}
