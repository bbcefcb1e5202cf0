//! A refund waits for a person's approval: for minutes or for weeks, through crashes and deploys.
//!
//! A call of more than [`LIMIT`] euros pauses the run. `#[agent_handlers]` adds to the workflow the
//! updates that decide on the call (see [`decide`]) and the query that shows it. The paused run is
//! a value: after a timeout, or at a signal, the workflow continues as new with the run and the
//! inbox in its input. A decision that arrives meanwhile is also in the inbox, so that none is lost
//! and none counts twice.

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

/// Largest refund without approval, in euros.
pub const LIMIT: u64 = 50;
/// Heartbeat timeout after which another worker retries the call. The default is 30 seconds.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Pays money back to a customer.
#[tool(heartbeat = "5s")]
async fn refund(State(ledger): State<Ledger>, order: String, euros: u32) -> Result<String, ToolError> {
    // An order is refunded once: a retry does not repeat the payment of an earlier attempt.
    ledger.pay(&order, euros).await?;
    Ok(format!("{euros} euros for {order} are paid"))
}

pub fn clerk() -> Agent {
    // Arguments are validated after this rule, so a value that is not a number of euros also needs
    // approval.
    let is_large = |arguments: &serde_json::Map<String, Value>| {
        arguments.get("euros").and_then(Value::as_u64).is_none_or(|euros| euros > LIMIT)
    };
    Agent::new("clerk")
        .model("gpt-5-mini")
        .instructions("You settle complaints to a mail-order shop. When a refund is refused, say why.")
        .tool(refund.needs_approval_when(move |_run, arguments, _call_id| is_large(arguments)))
}

/// The input of the workflow, also when it continues as new.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    pub complaint: String,
    /// Time that one history waits for a decision.
    pub patience: Duration,
    /// The run so far, if an earlier history began it.
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
    /// `true` after a request to continue as new, for example before a deploy.
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
            None => runner.run(&clerk(), &*case.complaint).until_paused().await?,
            Some(paused) => runner.run(&clerk(), paused).until_paused().await?,
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
            outcome = runner.run(&clerk(), paused).until_paused().await?;
        }
    }

    /// Continues as new instead of waiting longer.
    #[signal]
    pub fn renew(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_to_renew = true;
    }
}
