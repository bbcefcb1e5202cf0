//! The worker of the research in a process of its own: this test binary, started again with one test. Its archive is in the
//! process, because the standard output of a test binary is not that of an MCP server.

use std::{path::PathBuf, process::Command, time::Duration};

use temporal_agents_examples::{
    research::{
        archive,
        worker::{self, Desk},
    },
    stage::{mcp_server::in_process, process::WorkerProcess},
};
use temporal_agents_testing::skip_entry_point;

const TASK: &str = "TEMPORAL_AGENTS_TEST_RESEARCH";

/// Starts a worker process.
pub(super) fn start(desk: &Desk) -> anyhow::Result<WorkerProcess> {
    let test = "examples::research::worker::a_worker_works_only_where_a_test_has_started_it";
    let task = (&desk.address, &desk.namespace, &desk.folder, desk.pace);
    let mut program = Command::new(std::env::current_exe()?);
    WorkerProcess::start(program.args([test, "--exact", "--nocapture"]).env(TASK, serde_json::to_string(&task)?))
}

#[test]
fn a_worker_works_only_where_a_test_has_started_it() -> anyhow::Result<()> {
    let Ok(task) = std::env::var(TASK) else {
        skip_entry_point();
        return Ok(());
    };
    let (address, namespace, folder, pace): (String, String, PathBuf, Duration) = serde_json::from_str(&task)?;
    worker::serve(&Desk { address, namespace, folder, pace }, in_process(archive::answer))
}
