//! A person's decision on one call, as a workflow.

use std::time::Duration;

use futures::future::{Either, select};
use serde_json::Value;
use temporal_agents_core::{
    tool::BoxError,
    wire::{
        AgentDecision, AgentState, DecidedInterruption, DecisionAnswer, DecisionReply, RunStatus, SuppliedOutput,
        WIRE_VERSION,
        approval::{ApprovalRequest, ApprovalRuling},
        run_state::{Decision, InterruptionKind},
    },
};
use temporalio_workflow::{
    SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowContext, WorkflowContextView, WorkflowResult,
    workflow, workflow_methods,
};

use crate::workflow::effect::details::asked;

/// Waits for a person's decision on one call of an agentic session, whose activity cannot receive
/// messages itself. An `AgentHandle` on this workflow's id shows the call and decides; `temporal
/// workflow signal --name decide --input '{"approve": true}'` also decides. A signal that cannot be
/// read, or does not fit the call, has no effect.
///
/// ```
/// # #[cfg(feature = "worker")]
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use temporal_agents::workflow::ApprovalWorkflow;
/// use temporalio_sdk::WorkerOptions;
///
/// let options = WorkerOptions::new("reviews").register_workflow::<ApprovalWorkflow>()?.build();
/// # Ok(())
/// # }
/// ```
///
/// The first decision counts. If there is none in time, the call is rejected, and the model
/// receives a message that says so.
#[workflow]
#[derive(Default)]
pub struct ApprovalWorkflow {
    asked: Option<ApprovalRequest>,
    ruling: Option<AgentDecision>,
    /// Signals that arrived before the workflow had its request.
    early: Vec<Value>,
    /// `true` once the wait for a decision has ended.
    is_closed: bool,
}

#[workflow_methods]
impl ApprovalWorkflow {
    #[run(name = "ApprovalWorkflow")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: ApprovalRequest) -> WorkflowResult<ApprovalRuling> {
        let time = Duration::from_secs(request.timeout_seconds);
        ctx.set_current_details(asked(&request));
        ctx.state_mut(|workflow| {
            workflow.asked = Some(request);
            for ruling in std::mem::take(&mut workflow.early) {
                workflow.take_signal(ruling);
            }
        });
        let token = ctx.cancellation_token().child_token();
        let options = WaitConditionOptions::builder().cancellation_token(token.clone()).build();
        let decided = Box::pin(ctx.wait_condition_with_options(|workflow| workflow.ruling.is_some(), options));
        let timer = TimerOptions::builder(time).cancellation_token(token.clone());
        let timer = ctx.timer(timer.summary("nobody decides: the call is rejected".to_owned()).build());
        match select(decided, timer).await {
            Either::Left((decided, timer)) => {
                token.cancel();
                timer.await;
                decided?;
            }
            Either::Right(_) => token.cancel(),
        }
        // A decision that arrived together with the timer counts.
        let ruling = ctx.state_mut(|workflow| {
            workflow.is_closed = true;
            workflow.ruling.clone()
        });
        let late = || Decision::reject_with(format!("Nobody has decided on this call within {} s.", time.as_secs()));
        let ruling = ruling.map_or_else(|| late().into(), ApprovalRuling::from);
        ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
        Ok(ruling)
    }

    #[signal(name = "decide")]
    pub fn decide(&mut self, _ctx: &mut SyncWorkflowContext<Self>, ruling: Value) {
        // Decoded by hand: a malformed signal must not stop the workflow.
        if self.asked.is_some() {
            self.take_signal(ruling);
        } else {
            self.early.push(ruling);
        }
    }

    #[update(name = "agent_decide")]
    pub async fn agent_decide(
        ctx: &mut WorkflowContext<Self>,
        decision: AgentDecision,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.asked.is_some()).await?;
        Ok(ctx.state_mut(|workflow| workflow.take(decision)).into())
    }

    #[update(name = "agent_supply_output")]
    pub async fn agent_supply_output(
        ctx: &mut WorkflowContext<Self>,
        supplied: SuppliedOutput,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.asked.is_some()).await?;
        Ok(ctx.state_mut(|workflow| workflow.take(supplied.into())).into())
    }

    #[query(name = "agent_state")]
    pub fn agent_state(&self, _ctx: &WorkflowContextView) -> AgentState {
        let (status, waiting) = match (&self.asked, self.is_closed || self.ruling.is_some()) {
            (None, _) => (RunStatus::Queued, None),
            (Some(asked), false) => (RunStatus::Waiting, Some(asked.call.clone())),
            (Some(_), true) => (RunStatus::Completed, None),
        };
        let decided = self.ruling.iter().map(|ruling| DecidedInterruption {
            id: ruling.interruption_id.clone(),
            decision: ruling.decision.clone(),
            always: ruling.always,
            taken: true,
            by: ruling.by.clone(),
        });
        AgentState {
            version: WIRE_VERSION,
            status,
            agent: self.asked.as_ref().map(|asked| asked.call.agent.clone()),
            turn: 0,
            interruptions: waiting.into_iter().collect(),
            decided: decided.collect(),
        }
    }
}

impl ApprovalWorkflow {
    /// Handles a ruling that arrived as a signal. One that cannot be read, or does not fit the
    /// call, has no effect.
    fn take_signal(&mut self, ruling: Value) {
        let Some(asked) = &self.asked else { return };
        let id = asked.call.id.clone();
        if let Ok(ruling) = serde_json::from_value::<ApprovalRuling>(ruling) {
            self.take(ruling.on(id));
        }
    }

    /// Records a decision if it is the first one and fits the call.
    fn take(&mut self, decision: AgentDecision) -> DecisionAnswer {
        let Some(ApprovalRequest { call, .. }) = &self.asked else {
            return DecisionAnswer::Unknown { waits_for: Vec::new() };
        };
        if decision.interruption_id != call.id {
            return DecisionAnswer::Unknown { waits_for: vec![call.id.clone()] };
        }
        if let Some(before) = &self.ruling {
            return if (&before.decision, before.always) == (&decision.decision, decision.always) {
                DecisionAnswer::Accepted
            } else {
                DecisionAnswer::AlreadyDecided { decision: before.decision.clone(), always: before.always }
            };
        }
        if self.is_closed {
            return DecisionAnswer::Refused {
                reason: "there was no decision in time: the call is rejected".to_owned(),
            };
        }
        let ruling = ApprovalRuling::from(decision.clone());
        if ruling.approve && call.kind != InterruptionKind::Approval {
            let reason = format!(
                "the call of {:?} waits for its output: supply it with `agent_supply_output`, or reject the call",
                call.tool
            );
            return DecisionAnswer::Refused { reason };
        }
        self.ruling = Some(decision);
        DecisionAnswer::Accepted
    }
}
