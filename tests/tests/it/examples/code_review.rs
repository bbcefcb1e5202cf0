//! A review inside one activity, and the same review in the workflow.

use std::time::Duration;

use temporal_agents::{
    Resources,
    agentic_session::WorkflowApprover,
    client::AgentHandle,
    inline::InlineRunner,
    wire::{AgentDecision, Item, Verdict},
    workflow::ApprovalWorkflow,
};
use temporal_agents_examples::code_review::{
    Forge,
    durable::ReviewedPullRequest,
    model, reviewer,
    session::{PullRequest, Reviews},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use tokio::time::{sleep, timeout};

use crate::PATIENCE;

/// What came of a review, and what the model was given at each turn.
#[derive(Debug, PartialEq)]
struct Reviewed {
    said: String,
    comments: Vec<String>,
    given: Vec<Vec<Item>>,
    activities: usize,
}

fn given(model: &FakeModel) -> Vec<Vec<Item>> {
    model.calls().into_iter().map(|call| call.input).collect()
}

async fn decide(approval: &AgentHandle, verdict: &Verdict) -> anyhow::Result<()> {
    for call in approval.wait_for_interruptions().await? {
        approval.decide(AgentDecision::new(&*call.id, verdict.clone())).await?;
    }
    Ok(())
}

async fn in_an_activity(verdict: &Verdict) -> anyhow::Result<Reviewed> {
    let (model, forge) = (model::scripted(), Forge::new());
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).state(forge.clone()));
    let builder = AgentEnvironment::builder().workflow::<PullRequest>()?.workflow::<ApprovalWorkflow>()?;
    let builder = builder.model(&FakeModel::script([])).worker_options(move |options| {
        options.register_activities(Reviews { runner });
    });
    let env = builder.start().await?;
    let started = env.start_workflow(PullRequest::run, forge.changed()).await?;
    let asked = async {
        loop {
            let asked = WorkflowApprover::pending(env.client(), &started.info().workflow_id).await?;
            match asked.first() {
                Some(approval) => return anyhow::Ok(approval.clone()),
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    decide(&timeout(PATIENCE, asked).await??, verdict).await?;
    let run = env.await_run(&started).await?;
    let activities = run.activities().len();
    let reviewed = Reviewed { said: run.output()?, comments: forge.comments(), given: given(&model), activities };
    env.finish().await?;
    Ok(reviewed)
}

async fn in_the_workflow(verdict: &Verdict) -> anyhow::Result<Reviewed> {
    let (model, forge) = (model::scripted(), Forge::new());
    let builder = AgentEnvironment::builder().workflow::<ReviewedPullRequest>()?.model(&model);
    let env = builder.state(forge.clone()).agents((reviewer,)).start().await?;
    let started = env.start_workflow(ReviewedPullRequest::run, forge.changed()).await?;
    decide(&env.agent_handle(&started), verdict).await?;
    let run = env.await_run(&started).await?;
    let activities = run.activities().len();
    let reviewed = Reviewed { said: run.output()?, comments: forge.comments(), given: given(&model), activities };
    env.finish().await?;
    Ok(reviewed)
}

#[tokio::test]
async fn a_review_is_the_same_in_an_activity_and_in_the_workflow() -> anyhow::Result<()> {
    let (activity, workflow) = tokio::join!(in_an_activity(&Verdict::Approve), in_the_workflow(&Verdict::Approve));
    let (activity, workflow) = (activity?, workflow?);
    assert_eq!(activity.said, "The retry loop needs a limit; I have commented on it.");
    assert_eq!(activity.comments, ["src/retry.rs:1: This never gives up. Limit the attempts."]);
    assert_eq!(
        (activity.activities, workflow.activities),
        (1, 6),
        "one activity against three model calls and three tools"
    );
    assert_eq!(activity, Reviewed { activities: 1, ..workflow });
    Ok(())
}

#[tokio::test]
async fn a_refusal_and_its_reason_reach_the_model_on_both_hosts() -> anyhow::Result<()> {
    let verdict = Verdict::Reject { message: Some("be kinder".to_owned()) };
    let (activity, workflow) = tokio::join!(in_an_activity(&verdict), in_the_workflow(&verdict));
    let (activity, workflow) = (activity?, workflow?);
    assert_eq!(activity.said, "The retry loop needs a limit. I was not to say so: be kinder");
    assert_eq!(activity.comments, [""; 0]);
    assert_eq!(activity, Reviewed { activities: 1, ..workflow });
    Ok(())
}
