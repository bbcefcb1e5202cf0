//! A handle to a workflow with `#[agent_handlers]`: reads the state of its agent runs and sends
//! decisions to them, from outside the workflow and by workflow id alone.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use temporal_agents_core::wire::{
    AGENT_DECIDE, AGENT_STATE, AGENT_SUPPLY_OUTPUT, AgentDecision, AgentInterruption, AgentState, DecisionAnswer,
    DecisionReply, RunProblem, RunStatus, SuppliedOutput, WireDecodeError, decode, error_debug,
};
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowQueryOptions,
    errors::{WorkflowQueryError, WorkflowUpdateError},
};
use temporalio_common::{QueryDefinition, UntypedWorkflow, UpdateDefinition};
use tokio::time::sleep;
use tonic::Code;

use super::diagnosis::{Diagnosis, nondeterminism};

/// The mark of the SDK in the failure of a workflow that does not follow its history.
const NONDETERMINISM: &str = "[TMPRL1100]";

/// The time without an answer after which a handle looks whether the workflow is stuck, and then
/// between two looks. A workflow task that has failed is tried again after ten seconds: a rollback
/// in that time must not fail the message.
const LOOK_INTERVAL: Duration = Duration::from_secs(20);

/// The pause between two queries of [`AgentHandle::wait_for_interruptions`].
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A handle to a workflow with `#[agent_handlers]`, for any process with a client of the server. It
/// needs no type of the workflow.
///
/// ```no_run
/// use temporal_agents::{client::AgentHandle, wire::DecisionAnswer};
/// # async fn decide(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let agent = AgentHandle::new(client, "refund-7");
/// for call in agent.wait_for_interruptions().await? {
///     println!("{} wants {}({})", call.agent, call.tool, call.arguments);
///     assert_eq!(agent.approve(&call.id).await?, DecisionAnswer::Accepted);
/// }
/// # Ok(())
/// # }
/// ```
///
/// After continue-as-new, the handle refers to the same workflow, with the same inbox.
#[derive(Clone)]
pub struct AgentHandle {
    workflow: Arc<WorkflowHandle<Client, UntypedWorkflow>>,
    diagnosis: Diagnosis,
    /// Name that is sent with each decision that has no name of its own.
    by: Option<String>,
}

/// The failure of a query or an update of an [`AgentHandle`]. The workflow's reply to a decision is
/// not an error, see [`DecisionAnswer`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AgentHandleError {
    /// No workflow with this id exists; for decisions, also: it has ended.
    #[error("workflow {workflow_id:?} does not exist, or has ended")]
    NotFound {
        /// The workflow id.
        workflow_id: String,
    },
    /// The workflow has no such handler, or cannot read the message. (A decision that does not fit
    /// its call is no error: see [`DecisionAnswer::Refused`].)
    #[error("workflow {workflow_id:?} rejected the message: {message}; check that it has #[agent_handlers]")]
    Refused {
        /// The workflow id.
        workflow_id: String,
        /// The error message of the workflow.
        message: String,
    },
    /// The workflow cannot take messages now: its workflow task fails again and again, or its
    /// workers do not reproduce its history. A message that was sent may count once it continues.
    #[error("workflow {workflow_id:?} is stuck: {problem}")]
    Stuck {
        /// The workflow id.
        workflow_id: String,
        /// The reason, and what helps.
        problem: Box<RunProblem>,
    },
    /// The query failed.
    #[error("the state could not be queried: {0}")]
    Query(#[source] WorkflowQueryError),
    /// The update failed.
    #[error("the update could not be sent: {0}")]
    Update(#[source] WorkflowUpdateError),
    /// The reply cannot be read; it may be of another release.
    #[error(transparent)]
    Answer(#[from] WireDecodeError),
}

error_debug!(enum AgentHandleError {
    NotFound { workflow_id },
    Refused { workflow_id, message },
    Stuck { workflow_id, problem },
    Query(source),
    Update(source),
    Answer(source),
});

impl AgentHandle {
    /// Creates a handle to the latest execution of the workflow with this id; sends nothing yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        let workflow = Arc::new(client.get_workflow_handle(workflow_id));
        Self { workflow, diagnosis: Diagnosis::new(client), by: None }
    }

    /// Returns a handle with the name of the person who decides, which its decisions carry in
    /// history and in the transcript, unless a decision has a name of its own. The first 256
    /// characters are kept; see [`AgentDecision::by`].
    ///
    /// ```no_run
    /// # use temporal_agents::client::AgentHandle;
    /// # async fn example(agent: AgentHandle) -> Result<(), Box<dyn std::error::Error>> {
    /// agent.by("ann@shop.test").approve("call_1").await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn by(&self, name: impl Into<String>) -> Self {
        Self { by: Some(name.into()), ..self.clone() }
    }

    /// Queries the progress of the workflow's runs, and the calls that wait. A worker must be
    /// running to answer, also after the workflow has ended. When polling, check `status` as well:
    /// an empty list of interruptions may also mean that the run has failed.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn state(&self) -> Result<AgentState, AgentHandleError> {
        match self.workflow.query(State, (), WorkflowQueryOptions::default()).await {
            Ok(state) => Ok(decode("agent state", state)?),
            Err(error) => Err(self.failed_query(error).await),
        }
    }

    /// Returns the problem of the workflow, if it is open and certainly makes no progress: no worker
    /// takes its tasks, its workflow task or an activity fails again and again, or its workers do
    /// not reproduce its history. Needs no worker.
    ///
    /// ```no_run
    /// # async fn example(agent: temporal_agents::client::AgentHandle) {
    /// if let Some(problem) = agent.problem().await {
    ///     eprintln!("{problem}");
    /// }
    /// # }
    /// ```
    ///
    /// A workflow that waits for a signal, or for something that the server does not know, has no
    /// problem here. One request to the server; two or three for a run that has a problem.
    pub async fn problem(&self) -> Option<RunProblem> {
        Box::pin(self.diagnosis.of_workflow(&self.workflow_id())).await
    }

    /// Maps the failure of a query.
    async fn failed_query(&self, error: WorkflowQueryError) -> AgentHandleError {
        if let WorkflowQueryError::Rpc(status) = &error
            && let Some(problem) = self.unready(status).await
        {
            return stuck(&self.workflow_id(), problem);
        }
        query_error(&self.workflow_id(), error)
    }

    /// Maps the failure of an update.
    async fn failed_update(&self, error: WorkflowUpdateError) -> AgentHandleError {
        if let WorkflowUpdateError::Rpc(status) = &error
            && let Some(problem) = self.unready(status).await
        {
            return stuck(&self.workflow_id(), problem);
        }
        update_error(&self.workflow_id(), error)
    }

    /// Returns the problem of a workflow to which the server passes no messages, because its task
    /// fails again and again: the status does not say why it fails.
    async fn unready(&self, status: &tonic::Status) -> Option<RunProblem> {
        if status.code() == Code::FailedPrecondition { self.problem().await } else { None }
    }

    /// Returns as soon as the workflow is known to be stuck, so that it answers no update.
    async fn becomes_stuck(&self) -> RunProblem {
        loop {
            sleep(LOOK_INTERVAL).await;
            if let Some(problem) = self.problem().await.filter(RunProblem::blocks_messages) {
                return problem;
            }
        }
    }

    /// Returns the calls that wait, as soon as there are any, or an empty list if no run is in
    /// progress: the last one has ended, possibly with a failure. (In a chat that is also so
    /// between two messages.) A call that is decided waits no more, also before its run continues.
    /// Polls twice a second, without a time limit: wrap the call in `tokio::time::timeout` to limit
    /// it.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn wait_for_interruptions(&self) -> Result<Vec<AgentInterruption>, AgentHandleError> {
        loop {
            let AgentState { status, interruptions, .. } = self.state().await?;
            match status {
                RunStatus::Queued | RunStatus::Running => sleep(POLL_INTERVAL).await,
                // A run that has paused and is decided is resumed by its workflow.
                RunStatus::Waiting if interruptions.is_empty() => sleep(POLL_INTERVAL).await,
                _ => return Ok(interruptions),
            }
        }
    }

    /// Approves a call. With the answer [`Accepted`](DecisionAnswer::Accepted) the call is made,
    /// unless a guardrail stops it; check for the other answers. Waits for the answer, which needs
    /// a running worker. A decision that is sent again counts once.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn approve(&self, interruption_id: impl Into<String>) -> Result<DecisionAnswer, AgentHandleError> {
        self.decide(AgentDecision::approve(interruption_id)).await
    }

    /// Rejects a call: it is not made, and the model receives this message. Waits like
    /// [`approve`](Self::approve).
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

    /// Sends a decision, for what the other methods cannot say: a rejection without a message, or a
    /// decision on [all calls of the tool](AgentDecision::always()). Waits like
    /// [`approve`](Self::approve).
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn decide(&self, decision: AgentDecision) -> Result<DecisionAnswer, AgentHandleError> {
        self.decide_as(None, decision).await
    }

    /// Sends a decision as the update with this id: the server answers a repeated one by itself.
    pub(crate) async fn decide_as(
        &self,
        update_id: Option<String>,
        mut decision: AgentDecision,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        if let (None, Some(name)) = (&decision.by, &self.by) {
            decision = decision.by(name);
        }
        let options = WorkflowExecuteUpdateOptions::builder().maybe_update_id(update_id).build();
        self.answer(self.workflow.execute_update(Decide, decision, options)).await
    }

    /// Supplies the output of a call that the client has made itself; the tool does not run. Waits
    /// like [`approve`](Self::approve).
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn supply_output(
        &self,
        interruption_id: impl Into<String>,
        output: impl Into<Value>,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        self.supply_output_as(None, SuppliedOutput::new(interruption_id, output)).await
    }

    /// Sends an output as the update with this id.
    pub(crate) async fn supply_output_as(
        &self,
        update_id: Option<String>,
        mut supplied: SuppliedOutput,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        if let Some(name) = &self.by {
            supplied = supplied.by(name);
        }
        let options = WorkflowExecuteUpdateOptions::builder().maybe_update_id(update_id).build();
        self.answer(self.workflow.execute_update(SupplyOutput, supplied, options)).await
    }

    async fn answer(
        &self,
        reply: impl Future<Output = Result<Value, WorkflowUpdateError>>,
    ) -> Result<DecisionAnswer, AgentHandleError> {
        let reply = tokio::select! {
            reply = Box::pin(reply) => reply,
            problem = Box::pin(self.becomes_stuck()) => return Err(stuck(&self.workflow_id(), problem)),
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => return Err(self.failed_update(error).await),
        };
        let DecisionReply { version: _, answer } = decode("decision reply", reply)?;
        Ok(answer)
    }

    fn workflow_id(&self) -> String {
        self.workflow.info().workflow_id.clone()
    }
}

fn stuck(workflow_id: &str, problem: RunProblem) -> AgentHandleError {
    AgentHandleError::Stuck { workflow_id: workflow_id.to_owned(), problem: Box::new(problem) }
}

/// Maps the failure of a query to an [`AgentHandleError`].
pub(crate) fn query_error(workflow_id: &str, error: WorkflowQueryError) -> AgentHandleError {
    let workflow_id = workflow_id.to_owned();
    match error {
        WorkflowQueryError::NotFound(_) => AgentHandleError::NotFound { workflow_id },
        WorkflowQueryError::Rpc(status) if status.message().contains(NONDETERMINISM) => {
            stuck(&workflow_id, nondeterminism(status.message()))
        }
        // The workflow itself has failed the query.
        WorkflowQueryError::Rpc(status) if status.code() == Code::InvalidArgument => {
            AgentHandleError::Refused { workflow_id, message: status.message().to_owned() }
        }
        other => AgentHandleError::Query(other),
    }
}

/// Maps the failure of an update to an [`AgentHandleError`].
pub(crate) fn update_error(workflow_id: &str, error: WorkflowUpdateError) -> AgentHandleError {
    let workflow_id = workflow_id.to_owned();
    match error {
        WorkflowUpdateError::NotFound(_) => AgentHandleError::NotFound { workflow_id },
        WorkflowUpdateError::Failed(failure) => {
            // The innermost cause is the handler's own failure, whose message names the problem.
            let innermost = std::iter::successors(Some(&*failure), |failure| failure.cause.as_deref()).last();
            let message = innermost.map(|failure| failure.message.clone()).unwrap_or_default();
            if message.contains(NONDETERMINISM) {
                return stuck(&workflow_id, nondeterminism(&message));
            }
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

/// Client-side definitions of the handlers. Results are read as JSON first, so that their version
/// can be checked.
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
