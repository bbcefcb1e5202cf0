//! The worker of the quickstart, in this process or as a child process that can be killed.

use std::{process::Command, time::Duration};

use temporal_agents::{AgentsPlugin, Resources, worker::HeartbeatDeltas};
use temporal_agents_testing::environment::WorkerThread;
use temporalio_sdk::WorkerOptions;
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowNext,
};

use super::{
    model,
    traces::Traces,
    trip::{TravelData, Trip, travel_desk},
};
use crate::stage::process::{WorkerProcess, work_until_orphaned};

/// The task queue of the quickstart.
pub const TASK_QUEUE: &str = "quickstart";

/// The artificial delays of the worker.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Duration of a scripted model call.
    pub model: Duration,
    /// Duration of an activity tool.
    pub tool: Duration,
    /// Delay in a workflow task before the worker schedules an activity. It makes the moment
    /// between two calls long enough to kill the worker in it.
    pub hesitation: Duration,
}

/// An interceptor that delays the scheduling of activities. It does not change them.
struct Hesitant(Duration);

impl WorkflowInterceptor for Hesitant {
    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        if !ctx.is_replaying_history_events() {
            std::thread::sleep(self.0);
        }
        next.run(input)
    }
}

/// Starts a worker on a thread of this process.
///
/// # Errors
/// The server cannot be reached, or the agents are invalid.
pub async fn start(address: &str, namespace: &str, pace: Pace) -> anyhow::Result<(WorkerThread, Traces)> {
    let traces = Traces::set_up(address, namespace).await?;
    let resources = model::add_to(Resources::new().state(TravelData { delay: pace.tool }), pace.model)?;
    let plugin = traces.of(AgentsPlugin::new(resources).agent(travel_desk).deltas(HeartbeatDeltas::new()));
    let mut options = WorkerOptions::new(TASK_QUEUE).register_workflow::<Trip>()?.build();
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    // The time that the server waits for the worker that caches the workflow before it uses another
    // one.
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    if !pace.hesitation.is_zero() {
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(move |_| Hesitant(pace.hesitation)));
    }
    plugin.install(&mut options)?;
    Ok((WorkerThread::start(address.to_owned(), namespace, options)?, traces))
}

/// Starts this program again as a worker and waits until it polls.
///
/// # Errors
/// The program does not start.
pub fn spawn(address: &str, namespace: &str, pace: Pace) -> anyhow::Result<WorkerProcess> {
    let millis = |pause: Duration| pause.as_millis().to_string();
    let paces = [millis(pace.model), millis(pace.tool), millis(pace.hesitation)];
    WorkerProcess::start(Command::new(std::env::current_exe()?).args(["worker", address, namespace]).args(paces))
}

/// Runs the child process: a worker that runs until its parent has ended.
///
/// # Errors
/// The worker cannot be started.
pub fn serve(address: &str, namespace: &str, pace: Pace) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let (worker, traces) = runtime.block_on(start(address, namespace, pace))?;
    work_until_orphaned(&worker)?;
    runtime.block_on(traces.flush());
    Ok(())
}
