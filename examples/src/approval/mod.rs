//! A refund waits for somebody's approval: for minutes or for weeks, through crashes and deploys.
//!
//! A call of more than [`LIMIT`] euros pauses the run. `#[agent_handlers]` gives the workflow the updates that decide on it
//! (see [`decide`]) and the query that shows it. The paused run is a value: when a history has waited long enough, or is
//! asked to, the workflow continues as new with the run and the inbox in its input. A decision sent meanwhile is in the
//! inbox, too, so that none is lost and none counts twice.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod decide;
pub mod ledger;
pub mod model;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents::{
    Agent, ModelActivityOptions, Runner, State, Tool, ToolError, agent_handlers, run::RunOutcome, tool, wire::RunState,
    workflow::AgentInbox,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    CancellableFuture, ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult,
    workflows::select,
};

use self::ledger::Ledger;

/// Most euros that are paid back without asking.
pub const LIMIT: u64 = 50;
/// A worker that has been silent for so long is dead: another one takes its call. The default is 30 seconds.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Pays money back to a customer.
#[tool(heartbeat = "5s")]
async fn refund(State(ledger): State<Ledger>, order: String, euros: u32) -> Result<String, ToolError> {
    // An order is paid back once. What an attempt before this one has paid is not paid again.
    ledger.pay(&order, euros).await?;
    Ok(format!("{euros} euros for {order} are paid"))
}

pub fn clerk() -> Agent {
    // Arguments are checked after this rule: what is no number of euros is for a person to look at, too.
    let is_large = |arguments: &serde_json::Map<String, Value>| {
        arguments.get("euros").and_then(Value::as_u64).is_none_or(|euros| euros > LIMIT)
    };
    Agent::new("clerk")
        .model("gpt-5-mini")
        .instructions("You settle complaints to a mail-order shop. When a refund is refused, say why.")
        .tool(refund.needs_approval_when(move |_run, arguments, _call_id| is_large(arguments)))
}

/// What the workflow is started with, and continues with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    pub complaint: String,
    /// How long one history waits for a decision.
    pub patience: Duration,
    /// The run so far, when an earlier history has begun it.
    pub paused: Option<RunState>,
    #[serde(default)]
    pub inbox: AgentInbox,
}

impl Case {
    pub fn new(complaint: impl Into<String>, patience: Duration) -> Self {
        Self { complaint: complaint.into(), patience, paused: None, inbox: AgentInbox::default() }
    }
}

#[workflow]
pub struct Refunds {
    case: Case,
    inbox: AgentInbox,
    /// Whether somebody wants a fresh history, before a deploy for example.
    is_to_renew: bool,
}

#[agent_handlers]
#[workflow_methods]
impl Refunds {
    #[init]
    pub fn new(_ctx: &WorkflowContextView, case: Case) -> Self {
        Self { inbox: case.inbox.clone(), case, is_to_renew: false }
    }

    /// Settles a complaint.
    #[run(name = "approval")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let runner =
            Runner::with_inbox(ctx).model_activity(ModelActivityOptions::builder().heartbeat(HEARTBEAT).build());
        let case = ctx.state(|refunds| refunds.case.clone());
        let mut outcome = match case.paused.clone() {
            None => runner.run_until_paused(&clerk(), &*case.complaint).await?,
            Some(paused) => runner.resume_until_paused(&clerk(), paused).await?,
        };
        loop {
            let paused = match outcome {
                RunOutcome::Finished(result) => return Ok(result.final_output),
                RunOutcome::Paused(paused) => paused.state,
            };
            let mut patience = ctx.timer(case.patience);
            select! {
                woken = ctx.wait_condition(|refunds| refunds.inbox.has_decisions_on(&paused) || refunds.is_to_renew) => woken?,
                _ = patience => {}
            }
            patience.cancel();
            if !ctx.state(|refunds| refunds.inbox.has_decisions_on(&paused)) {
                let inbox = ctx.state(|refunds| refunds.inbox.clone());
                let renewed = Case { paused: Some(paused), inbox, ..case };
                match ctx.continue_as_new(renewed, ContinueAsNewOptions::default())? {}
            }
            outcome = runner.resume_until_paused(&clerk(), paused).await?;
        }
    }

    /// Continues as new instead of waiting on.
    #[signal]
    pub fn renew(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_to_renew = true;
    }
}
