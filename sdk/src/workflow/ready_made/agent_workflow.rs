//! A run of an agent as a workflow.

use std::sync::Arc;

use serde_json::Value;
use temporal_agents_core::{
    drive::{RunFailure, RunResult},
    engine::RunError,
    tool::BoxError,
    wire::{
        AgentDecision, AgentState, DecisionReply, SuppliedOutput,
        ready_made::{AgentReport, AgentRequest, Malformed},
    },
};
use temporalio_workflow::{
    SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult, WorkflowTermination,
    common::data_converters::RawValue, workflow, workflow_methods,
};

use super::{
    admission::Asked,
    agent_set::{AgentSet, nonsense},
    specs::{SpecAgent, spec_agent},
    toolsets::AskedTools,
    versions::{Chosen, carried_version},
};
use crate::workflow::{
    AgentInbox, HasAgentInbox, RunFailed, Runner, WorkflowStream,
    continuing::{continued_from, fail_task, record_deploy_patch, refused},
    effect::failure::termination,
    inbox::decide,
    limits::size::{MOST_BYTES, encoded_len},
    stream::{PollResult, stream_admits_poll, stream_offset, stream_poll, stream_publish, stream_read},
};

/// Runs an agent by name: the input is an [`AgentRequest`], the result the final output as JSON.
/// The workflow waits for decisions (which an `AgentHandle` sends), and continues as new
/// automatically.
///
/// The input of a start is limited to what its caller may request: see [`AgentSet`].
///
/// ```
/// # #[cfg(feature = "worker")]
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use temporal_agents::{Agent, workflow::{AgentSet, AgentWorkflow}};
/// use temporalio_sdk::WorkerOptions;
///
/// fn triage() -> Agent {
///     Agent::new("triage").model("gpt-5")
/// }
///
/// let factory = AgentWorkflow::factory(AgentSet::new((triage,)));
/// let options = WorkerOptions::new("support")
///     .register_workflow_with_factory::<AgentWorkflow, _>(factory)?
///     .build();
/// # Ok(())
/// # }
/// ```
///
/// ```sh
/// temporal workflow execute --type AgentWorkflow --task-queue support \
///     --input '{"agent": "triage", "input": "Where is my parcel?"}'
/// ```
#[workflow]
pub struct AgentWorkflow {
    agents: Arc<AgentSet>,
    inbox: AgentInbox,
    /// `true` once the inbox of the previous execution is available: the answers of handlers depend
    /// on it. (The stream has a mark of its own for that.)
    is_taken_up: bool,
}

impl AgentWorkflow {
    /// Returns a factory of the workflow, for `register_workflow_with_factory`. The agents must
    /// also be in the worker's `AgentsPlugin`.
    pub fn factory(agents: AgentSet) -> impl Fn() -> Self + Send + Sync + 'static {
        let agents = Arc::new(agents);
        move || Self { agents: Arc::clone(&agents), inbox: AgentInbox::awaiting_restore(), is_taken_up: false }
    }
}

#[workflow_methods(factory_only)]
impl AgentWorkflow {
    #[run(name = "AgentWorkflow")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: AgentRequest) -> WorkflowResult<Value> {
        let ended = Box::pin(run(ctx, request)).await;
        // Also after a failure: a poll that waits would fail with the end of the workflow.
        WorkflowStream::new(ctx).close().await;
        ended
    }

    #[update(name = "agent_decide")]
    pub async fn agent_decide(
        ctx: &mut WorkflowContext<Self>,
        decision: AgentDecision,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        Ok(decide(ctx, decision))
    }

    #[update(name = "agent_supply_output")]
    pub async fn agent_supply_output(
        ctx: &mut WorkflowContext<Self>,
        supplied: SuppliedOutput,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        Ok(decide(ctx, supplied.into()))
    }

    #[query(name = "agent_state")]
    pub fn agent_state(&self, _ctx: &WorkflowContextView) -> AgentState {
        self.inbox.state()
    }

    #[signal(name = "__temporal_workflow_stream_publish")]
    pub fn stream_publish(&mut self, ctx: &mut SyncWorkflowContext<Self>, input: RawValue) {
        stream_publish(&mut self.inbox, ctx, &input);
    }

    #[update(name = "__temporal_workflow_stream_poll")]
    pub async fn stream_poll(ctx: &mut WorkflowContext<Self>, input: RawValue) -> PollResult {
        stream_poll(ctx, input).await
    }

    #[update_validator(stream_poll)]
    fn stream_admits_poll(&self, _ctx: &WorkflowContextView, _input: &RawValue) -> Result<(), BoxError> {
        stream_admits_poll(&self.inbox)
    }

    #[query(name = "__temporal_workflow_stream_poll")]
    pub fn stream_read(&self, _ctx: &WorkflowContextView, input: RawValue) -> PollResult {
        stream_read(&self.inbox, &input)
    }

    #[query(name = "__temporal_workflow_stream_offset")]
    pub fn stream_offset(&self, _ctx: &WorkflowContextView) -> u64 {
        stream_offset(&self.inbox)
    }
}

/// Runs the agent that the request names, or continues the run that it carries.
async fn run(ctx: &WorkflowContext<AgentWorkflow>, request: AgentRequest) -> WorkflowResult<Value> {
    let continued = continued_from(&ctx.info());
    if request.carries_something() {
        if let Err(why) = &continued {
            let agent = request.agent.as_deref().unwrap_or_default();
            return Err(RunFailed::from(refused(agent, "the run that the input carries", why)).into());
        }
        record_deploy_patch(ctx);
    }
    let AgentRequest {
        version: _,
        agent,
        spec,
        input,
        thread,
        context,
        report,
        report_items,
        max_turns,
        batch_tools,
        untrusted,
        gates,
        toolsets,
        user,
        trace,
        carried,
        agent_version,
        loaded,
        malformed,
    } = request;
    if let Some(malformed) = malformed {
        return Err(unreadable(ctx, &malformed, continued.is_ok()).await);
    }
    if carried.is_none() && input.is_empty() {
        return Err(nonsense("", "the request is empty: it has no \"input\", or an empty one".to_owned()));
    }
    let agents = ctx.state_mut(|workflow| {
        workflow.inbox.restore(carried.as_deref());
        workflow.is_taken_up = true;
        workflow.agents.clone()
    });
    let is_child = ctx.info().parent().is_some();
    let tools = AskedTools { toolsets, user, untrusted, gates: gates.clone(), is_child };
    let is_carried = carried.is_some();
    let name = agents.name_of(agent.as_deref(), spec.as_ref());
    let name = found_or_fail_task(ctx, agent.as_deref().unwrap_or_default(), name, is_carried).await?;
    let session = agents.thread_session(&name, thread.as_deref());
    let session = found_or_fail_task(ctx, &name, session, is_carried).await?;
    if carried.is_none() {
        agents.admit_tools(&name, &tools).map_err(RunFailed::from)?;
        let version = agent_version.as_deref();
        agents
            .admit(&name, &Asked { input: input.items(), context: &context, max_turns, version, is_child })
            .map_err(RunFailed::from)?;
    }
    let (Chosen { agent, version: agent_version }, loaded) = match (&spec, &carried) {
        (Some(spec), _) => {
            let SpecAgent { agent, loaded } = Box::pin(spec_agent(ctx, &agents, spec, loaded)).await?;
            (Chosen { agent, version: None }, loaded)
        }
        (None, None) => (agents.choose(&name, |patch| ctx.patched(patch)).map_err(RunFailed::from)?, Vec::new()),
        (None, Some(_)) => {
            (carried_version(ctx, &agents, &name, agent_version.as_deref()).map_err(RunFailed::from)?, Vec::new())
        }
    };
    let runner = if spec.is_some() { agents.runner_of(ctx, &agent) } else { agents.runner(ctx) };
    let mut runner = runner.asked_trace(trace.clone()).continue_with(move |carried| AgentRequest {
        trace: trace.clone(),
        thread: thread.clone(),
        report,
        report_items,
        max_turns,
        batch_tools,
        untrusted,
        gates: gates.clone(),
        agent_version: agent_version.clone(),
        spec: spec.clone(),
        loaded: loaded.clone(),
        ..AgentRequest::carried(name.clone(), carried)
    });
    if let Some(session) = session {
        runner = runner.session(session);
    }
    runner = max_turns.into_iter().fold(runner, Runner::max_turns);
    if batch_tools {
        runner = runner.batch_tools();
    }
    runner = runner.asked_tools(tools);
    runner = context.into_iter().fold(runner, |runner, (key, value)| runner.context(key, value));
    let ended = match carried {
        None => runner.run_def(&agent, input.into_items()).await,
        Some(carried) => runner.run_def(&agent, *carried).await,
    };
    if !report {
        return Ok(ended.map_err(RunFailed::from)?.final_output);
    }
    let result = ended.map_err(reported)?;
    written(&agent.name, result, report_items)
}

/// Returns what a run needs. If a carried run does not find it, fails the workflow task: a later
/// release may have it.
async fn found_or_fail_task<T>(
    ctx: &WorkflowContext<AgentWorkflow>,
    agent: &str,
    found: Result<T, RunError>,
    is_carried: bool,
) -> Result<T, RunFailed> {
    if let (Err(error), true) = (&found, is_carried) {
        fail_task(ctx, agent, error).await;
    }
    Ok(found?)
}

/// Returns the error of an input that is not a request. That of a continued run fails the workflow
/// task instead: a later release may be able to read it.
async fn unreadable(
    ctx: &WorkflowContext<AgentWorkflow>,
    input: &Malformed,
    is_continued: bool,
) -> WorkflowTermination {
    let Malformed { json, reason } = input;
    if is_continued {
        let agent = json["agent"].as_str().unwrap_or_default();
        let why = format_args!("its input is not an agent request that this release can read: {reason}");
        fail_task(ctx, agent, why).await;
    }
    nonsense("", format!("the input is not an agent request: {reason}"))
}

/// Returns the report of a run, as JSON.
///
/// # Errors
/// The report is larger than a workflow can return.
fn written(agent: &str, result: RunResult<Value>, with_items: bool) -> WorkflowResult<Value> {
    let RunResult { final_output, usage, new_items, last_agent, .. } = result;
    let mut report = AgentReport::new(final_output, usage);
    if with_items {
        (report.new_items, report.last_agent) = (new_items, last_agent);
        let bytes = encoded_len(&report).unwrap_or_default();
        if bytes > MOST_BYTES {
            let message = format!(
                "the report of the run is {bytes} bytes of JSON, the limit is {MOST_BYTES}: call the agent without an \
                 output extractor"
            );
            let error = RunError::User { agent: agent.to_owned(), message, has_run_data: false };
            return Err(termination(error, Some(AgentReport::new(Value::Null, report.usage))));
        }
    }
    serde_json::to_value(report).map_err(|error| nonsense(agent, format!("the report cannot be written: {error}")))
}

/// Returns the end of a failed run, with its usage.
fn reported(failure: RunFailure) -> WorkflowTermination {
    let used = failure.state.map(|state| state.usage);
    termination(failure.error, used.map(|usage| AgentReport::new(Value::Null, usage)))
}

impl HasAgentInbox for AgentWorkflow {
    fn agent_inbox(&self) -> &AgentInbox {
        &self.inbox
    }

    fn agent_inbox_mut(&mut self) -> &mut AgentInbox {
        &mut self.inbox
    }
}
