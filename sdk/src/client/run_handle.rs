//! A run of an author's own workflow, for the program that starts it: events, decisions, result.

use std::fmt;

use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowStartOptions,
    errors::{WorkflowGetResultError, WorkflowStartError},
};
use temporalio_common::HasWorkflowDefinition;

use super::{
    AgentHandle, RunEventStream, RunEvents,
    event_lines::{PrintError, RunPrinter},
};

/// A workflow of yours that runs agents.
///
/// ```no_run
/// use temporal_agents::client::{RunHandle, connect_from_env};
/// use temporalio_client::WorkflowStartOptions;
/// # use temporal_agents::{Agent, Runner};
/// # use temporalio_macros::{workflow, workflow_methods};
/// # use temporalio_sdk::{WorkflowContext, WorkflowResult};
/// # fn main() {}
/// # #[workflow]
/// # #[derive(Default)]
/// # pub struct Support;
/// # #[workflow_methods]
/// # impl Support {
/// #     #[run]
/// #     pub async fn run(
/// #         ctx: &mut WorkflowContext<Self>,
/// #         question: String,
/// #     ) -> WorkflowResult<String> {
/// #         let agent = Agent::new("support").model("gpt-5");
/// #         Ok(Runner::new(ctx).run(&agent, question).await?.final_output)
/// #     }
/// # }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = connect_from_env().await?;
/// let options = WorkflowStartOptions::new("support", "support-7").build();
/// let run = RunHandle::start(&client, Support::run, "Where is my parcel?".to_owned(), options).await?;
/// run.print_events().await?;
/// let answer = run.result().await?;
/// # let _ = answer;
/// # Ok(())
/// # }
/// ```
///
/// Events and decisions use the latest execution with the workflow id. After [`start`](Self::start), the
/// result comes from the execution that was started. For ready-made workflows, use
/// [`AgentRuns`](super::AgentRuns).
pub struct RunHandle<W> {
    client: Client,
    workflow: WorkflowHandle<Client, W>,
}

impl<W: HasWorkflowDefinition> RunHandle<W> {
    /// Starts the workflow.
    ///
    /// # Errors
    /// [`WorkflowStartError`]: a workflow with this id runs already, or the server refuses.
    pub async fn start(
        client: &Client,
        workflow: W,
        input: W::Input,
        options: WorkflowStartOptions,
    ) -> Result<Self, WorkflowStartError>
    where
        W::Input: Send,
    {
        let workflow = client.start_workflow(workflow, input, options).await?;
        Ok(Self { client: client.clone(), workflow })
    }

    /// Returns the handle of a workflow that was started elsewhere; sends nothing. `W` is the type of
    /// its run method: `RunHandle::attach(&client, Support::run, "support-7")`.
    pub fn attach(client: &Client, _workflow: W, workflow_id: impl Into<String>) -> Self {
        Self { client: client.clone(), workflow: client.get_workflow_handle(workflow_id) }
    }

    /// Returns the workflow id.
    pub fn id(&self) -> &str {
        &self.workflow.info().workflow_id
    }

    /// Returns Temporal's handle, for signals, queries, updates and cancellation.
    pub fn workflow(&self) -> &WorkflowHandle<Client, W> {
        &self.workflow
    }

    /// Returns the handle for decisions on calls that wait; the workflow needs `#[agent_handlers]`.
    pub fn agent(&self) -> AgentHandle {
        AgentHandle::new(&self.client, self.id())
    }

    /// Returns the events from the beginning of the workflow to its end: facts, and tokens as they
    /// come.
    pub fn events(&self) -> RunEventStream {
        RunEvents::new(&self.client).watch_live(self.id())
    }

    /// Writes the events to the standard output, in the form of
    /// [`EventWriter`](super::event_lines::EventWriter), until the workflow has ended.
    ///
    /// # Errors
    /// [`PrintError`]: the events cannot be read, or the output cannot be written.
    pub async fn print_events(&self) -> Result<(), PrintError> {
        RunPrinter::new(&self.client, self.id()).print_to_end().await
    }

    /// Waits for the end of the workflow, without a time limit, and returns its result.
    ///
    /// # Errors
    /// [`WorkflowGetResultError`]: the workflow has failed, or was cancelled, terminated or deleted.
    pub async fn result(&self) -> Result<W::Output, WorkflowGetResultError> {
        self.workflow.get_result(WorkflowGetResultOptions::default()).await
    }
}

impl<W: HasWorkflowDefinition> fmt::Debug for RunHandle<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RunHandle").field(&self.id()).finish()
    }
}
