//! Servers that are started by a wrapper (`npx`, `uvx`, `sh`), which end with it.

use rstest::rstest;
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    mcp::McpTransport,
    tool::{McpServer, McpSessionOptions},
};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::{
    python::command,
    support::{ended, process_in, smith},
};

/// Starts a process that heeds neither the end of its input nor a signal that can be ignored, and the server.
const BESIDE: &str =
    r#"trap "" TERM; sleep 300 </dev/null & printf %s $! > "$2.new"; mv "$2.new" "$2"; "$0" "$1"; true"#;

/// The wrapper itself goes on when the server has ended.
const AFTERWARDS: &str =
    r#"trap "" TERM; sleep 300 </dev/null & printf %s $! > "$2.new"; mv "$2.new" "$2"; "$0" "$1"; wait"#;

#[rstest]
#[case::wrapper_that_ends(BESIDE)]
#[case::wrapper_that_must_be_killed(AFTERWARDS)]
#[tokio::test]
async fn what_a_wrapper_has_started_ends_with_the_session(#[case] script: &str) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let (python, server) = command();
    let arguments = ["-c".into(), script.into(), python.into_os_string(), server.into_os_string(), file.clone().into()];
    let arguments: [std::ffi::OsString; 5] = arguments;
    let model = FakeModel::script([text("done")]);
    let resources = Resources::new().model_provider(model).mcp_server("workshop", McpTransport::stdio("sh", arguments));
    let runner = InlineRunner::new(resources);
    let agent = smith(McpServer::named("workshop").stateful(McpSessionOptions::new()));
    runner.run(&agent, "Work.").await?;
    ended(process_in(&file).await?).await
}
