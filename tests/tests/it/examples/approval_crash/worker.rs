//! The worker of the approval example in a process of its own: this test binary, started again with one test.

use std::{path::PathBuf, process::Command, time::Duration};

use serde::{Deserialize, Serialize};
use temporal_agents::{AgentsPlugin, Resources};
use temporal_agents_examples::{
    approval::{Refunds, clerk, ledger::Ledger, model},
    stage::process::{WorkerProcess, work_until_orphaned},
};
use temporal_agents_testing::{FakeModel, environment::WorkerThread, skip_entry_point};
use temporalio_sdk::WorkerOptions;
use temporalio_workflow::{
    TimerResult,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, StartTimerInput, WorkflowInterceptor, WorkflowInterceptorConstructor,
        WorkflowInterceptorContext, WorkflowNext,
    },
};

pub(super) const TASK_QUEUE: &str = "refunds";
const TASK: &str = "TEMPORAL_AGENTS_TEST_WORKER";
/// For ever, as far as a test is concerned.
const FOR_EVER: Duration = Duration::from_mins(10);

/// Where a worker holds still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    Nothing,
    /// The model does not give its first answer.
    FirstAnswer,
    /// The workflow stands still where it starts its timer, before it says anything to the server.
    Timer,
    /// The refund is paid, and never confirmed.
    Confirmation,
    /// The model does not give its last answer.
    LastAnswer,
}

/// What a worker process is told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) target: String,
    pub(super) ledger: PathBuf,
    pub(super) hold: Hold,
}

/// Starts a worker process.
pub(super) fn start(task: &Task) -> anyhow::Result<WorkerProcess> {
    let test = "examples::approval_crash::worker::a_worker_works_only_where_a_test_has_started_it";
    let mut program = Command::new(std::env::current_exe()?);
    WorkerProcess::start(program.args([test, "--exact", "--nocapture"]).env(TASK, serde_json::to_string(task)?))
}

#[test]
fn a_worker_works_only_where_a_test_has_started_it() -> anyhow::Result<()> {
    let Ok(task) = std::env::var(TASK) else {
        skip_entry_point();
        return Ok(());
    };
    work(serde_json::from_str(&task)?)
}

fn work(Task { target, ledger, hold }: Task) -> anyhow::Result<()> {
    let confirmation = if hold == Hold::Confirmation { FOR_EVER } else { Duration::from_secs(1) };
    let model = FakeModel::function(move |call, _| {
        let is_first = call.turn == 1;
        let holds = if is_first { hold == Hold::FirstAnswer } else { hold == Hold::LastAnswer };
        model::play(call).delayed(if holds { FOR_EVER } else { Duration::ZERO })
    });
    let plugin = AgentsPlugin::new(Resources::new().model_provider(model).state(Ledger { path: ledger, confirmation }))
        .agents((clerk,));
    let mut options = WorkerOptions::new(TASK_QUEUE).register_workflow::<Refunds>()?.build();
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    // How long the server waits for the worker that knows the workflow before it asks another one.
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    if hold == Hold::Timer {
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(|_| StandsStill));
    }
    plugin.install(&mut options)?;
    work_until_orphaned(&WorkerThread::start(target, "default", options)?)
}

/// Stands between the workflow and its timer.
struct StandsStill;

impl WorkflowInterceptor for StandsStill {
    fn start_timer(
        &self,
        _ctx: WorkflowInterceptorContext,
        input: StartTimerInput,
        next: WorkflowNext<'static, StartTimerInput, CancellableWorkflowOutboundFuture<TimerResult>>,
    ) -> CancellableWorkflowOutboundFuture<TimerResult> {
        std::thread::sleep(FOR_EVER);
        next.run(input)
    }
}
