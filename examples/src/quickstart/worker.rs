//! The worker of the quickstart, in this process or as a child process that can be killed.

use std::{process::Command, time::Duration};

use temporal_agents::AgentsPlugin;
use temporal_agents_testing::environment::WorkerThread;
use temporalio_sdk::WorkerOptions;
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowNext,
};

use super::{
    model,
    trip::{Almanac, Trip, travel_desk},
};
use crate::stage::process::{WorkerProcess, work_until_orphaned};

/// The task queue of the quickstart.
pub const TASK_QUEUE: &str = "quickstart";

/// How the worker behaves.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a scripted model call takes.
    pub model: Duration,
    /// How long an activity tool takes.
    pub tool: Duration,
    /// How long the worker hesitates in a workflow task before it schedules an activity: the moment between two calls,
    /// made long enough to hit.
    pub hesitation: Duration,
}

/// Stands between the workflow and its commands, and takes its time. It changes none of them.
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
/// When the server cannot be reached or the agents are wrong.
pub fn start(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<WorkerThread> {
    let plugin = AgentsPlugin::new().state(Almanac { delay: pace.tool }).agents((travel_desk,));
    let plugin = model::add_to(plugin, pace.model)?;
    let mut options = WorkerOptions::new(TASK_QUEUE).register_workflow::<Trip>()?.build();
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    // How long the server waits for the worker that knows the workflow before it asks another one.
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    if !pace.hesitation.is_zero() {
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(move |_| Hesitant(pace.hesitation)));
    }
    plugin.install(&mut options)?;
    Ok(WorkerThread::start(target_url.to_owned(), namespace, options)?)
}

/// Starts this program again as a worker and waits until it polls.
///
/// # Errors
/// When it does not start.
pub fn spawn(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<WorkerProcess> {
    let millis = |pause: Duration| pause.as_millis().to_string();
    let paces = [millis(pace.model), millis(pace.tool), millis(pace.hesitation)];
    WorkerProcess::start(Command::new(std::env::current_exe()?).args(["worker", target_url, namespace]).args(paces))
}

/// What the child process does: works until its parent is gone.
///
/// # Errors
/// When the worker cannot be started.
pub fn serve(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<()> {
    work_until_orphaned(start(target_url, namespace, pace)?)
}
