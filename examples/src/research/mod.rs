//! Research in an archive of many documents: one agentic session of 38 turns, inside one activity.
//!
//! Three things make such a long session practical, and each is a few lines here:
//!
//! - findings are kept by the session (the tool `note`), not by the conversation;
//! - a [compaction](Compaction) shortens the conversation whenever it has become long;
//! - a [`CheckpointStore`](temporal_agents::agentic_session::CheckpointStore) takes the checkpoints
//!   out of the heartbeats: [`checkpoints`] is one in a directory.
//!
//! A worker that is killed costs the turn that was under way: [`crash`] does so, and counts.

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "#[workflow_methods] and #[activities] generate items without either"
)]

pub mod archive;
pub mod checkpoints;
pub mod crash;
pub mod journal;
pub mod model;
pub mod progress;
pub mod worker;

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use temporal_agents::{
    Agent, RunConfig, State, ToolError,
    agentic_session::{AgenticSession, SessionResults},
    inline::InlineRunner,
    run::Compaction,
    tool,
    tool::McpServer,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use self::checkpoints::Directory;

/// The name of the archive's MCP server, for the agent and the runner.
pub const SERVER: &str = "archive";

/// Size of the conversation, in bytes of JSON, above which it is shortened before the next turn.
const LONG: usize = 12_000;
/// Size of the newest items, which a compaction keeps unchanged.
const NEWEST: usize = 4_000;
/// Size of a checkpoint, in bytes of JSON, above which it goes to the store.
const LARGE: usize = 4_000;
/// More than the 38 turns of the scripted model; another model may take more.
const MAX_TURNS: u32 = 120;

/// The input of the workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    /// Time without a heartbeat, in seconds, after which the server considers the worker lost.
    pub heartbeat_seconds: u64,
}

/// The day of the year on which the first blossom opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub year: u16,
    pub day: u16,
}

/// The output of the workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub conclusion: String,
    pub findings: Vec<Finding>,
}

/// Notes the day of the year on which the first blossom opened.
#[tool]
async fn note(State(results): State<SessionResults>, year: u16, day: u16) -> Result<String, ToolError> {
    // Kept in the session's checkpoint, also if a compaction drops the call from the conversation.
    results.push(Finding { year, day })?;
    Ok("noted".to_owned())
}

pub fn researcher() -> Agent {
    Agent::new("researcher")
        .model("gpt-5-mini")
        .instructions(
            "You answer questions from the yearbooks of a garden. List the years first. Then read the yearbooks one by \
             one, and note the finding of each before you read the next. In the end, write your conclusion in one sentence.",
        )
        .tool(note)
        .mcp_server(McpServer::named(SERVER))
}

/// Returns the configuration of the run: the rule that shortens the conversation.
pub fn config() -> RunConfig {
    RunConfig::builder().compaction(Compaction::summarize(NEWEST)).max_turns(MAX_TURNS).build()
}

/// The activity; the runner has the model and the MCP server.
pub struct Archivists {
    pub runner: InlineRunner,
    pub checkpoints: Directory,
}

#[activities]
impl Archivists {
    #[activity]
    pub async fn research(self: Arc<Self>, ctx: ActivityContext, question: String) -> Result<Report, ActivityError> {
        let options = AgenticSession::options()
            .checkpoint_store(self.checkpoints.clone())
            .spill_over(LARGE)
            .compaction_threshold(LONG);
        let research = options.run(&ctx, async |session| {
            let conclusion = session.runner(&self.runner).run(&researcher(), question).await?.final_output;
            Ok(Report { conclusion, findings: session.results()? })
        });
        research.await
    }
}

/// A workflow that has its question answered by one activity.
#[workflow]
#[derive(Default)]
pub struct Research;

#[workflow_methods]
impl Research {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, question: Question) -> WorkflowResult<Report> {
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_hours(1))
            .heartbeat_timeout(Duration::from_secs(question.heartbeat_seconds))
            .build();
        Ok(ctx.execute_activity(Archivists::research, question.text, options).await?)
    }
}
