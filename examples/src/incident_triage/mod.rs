//! An incident is triaged inside one activity: the agent reads an MCP server's data, notes its
//! findings, and restarts a service if the person on call approves.

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "#[workflow_methods] and #[activities] generate items without either"
)]

pub mod model;
pub mod operations;

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{
    Agent, State, Tool, ToolError,
    agentic_session::{AgenticSession, SessionResults, WorkflowApprover},
    inline::InlineRunner,
    tool,
    tool::McpServer,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

/// The name under which agent and runner know the server.
pub const SERVER: &str = "operations";

/// A page to the person on call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    pub service: String,
    pub alert: String,
}

/// The severity of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    High,
}

/// The conclusion of the triage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conclusion {
    pub severity: Severity,
    pub cause: String,
    pub done: String,
}

/// A fact that the agent noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub fact: String,
}

/// The report for the incident's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub conclusion: Conclusion,
    pub findings: Vec<Finding>,
}

/// Notes a fact for the incident's file.
#[tool]
async fn note(State(results): State<SessionResults>, fact: String) -> Result<String, ToolError> {
    // Saved with the session's checkpoint, once, even if its worker is lost several times.
    results.push(Finding { fact })?;
    Ok("noted".to_owned())
}

pub fn triage() -> Agent<Conclusion> {
    Agent::new("triage")
        .model("gpt-5-mini")
        .instructions(
            "Find out what is wrong with the service. Note each fact you rely on. Restart it only when that helps.",
        )
        // One after the other, so that the file has the facts in the order of the calls.
        .tool(note.serial())
        .mcp_server(McpServer::named(SERVER).needs_approval_for(["restart"]))
        .output::<Conclusion>()
}

/// The activities of the people on call; the runner has the model and the server.
pub struct OnCall {
    pub runner: InlineRunner,
}

#[activities]
impl OnCall {
    #[activity]
    pub async fn triage(self: Arc<Self>, ctx: ActivityContext, page: Page) -> Result<Report, ActivityError> {
        // Without an answer within a quarter of an hour nothing is restarted, and the agent reports
        // that.
        let approvals = WorkflowApprover::new().timeout(Duration::from_mins(15));
        let triaged = AgenticSession::options().approver(approvals).run(&ctx, async |session| {
            let question = format!("{}: {}", page.service, page.alert);
            let conclusion = session.runner(&self.runner).run(&triage(), question).await?.final_output;
            Ok(Report { conclusion, findings: session.results()? })
        });
        triaged.await
    }
}

/// The workflow of one page.
#[workflow]
#[derive(Default)]
pub struct Incident;

#[workflow_methods]
impl Incident {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, page: Page) -> WorkflowResult<Report> {
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_hours(1))
            .heartbeat_timeout(Duration::from_secs(10))
            .build();
        Ok(ctx.execute_activity(OnCall::triage, page, options).await?)
    }
}
