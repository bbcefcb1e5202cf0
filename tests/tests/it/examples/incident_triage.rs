//! An incident that is triaged inside one activity.

use std::time::Duration;

use temporal_agents::{
    Resources,
    agentic_session::WorkflowApprover,
    inline::InlineRunner,
    wire::{AgentDecision, Verdict},
    workflow::ApprovalWorkflow,
};
use temporal_agents_examples::incident_triage::{
    Conclusion, Finding, Incident, OnCall, Page, Report, SERVER, Severity, model, operations,
};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use tokio::time::{sleep, timeout};

use crate::PATIENCE;

async fn triaged(verdict: Verdict) -> anyhow::Result<Report> {
    let resources = Resources::new().model_provider(model::scripted()).mcp_server(SERVER, operations::transport());
    let runner = InlineRunner::new(resources);
    let builder = AgentEnvironment::builder().workflow::<Incident>()?.workflow::<ApprovalWorkflow>()?;
    let builder = builder.model(&FakeModel::script([])).worker_options(move |options| {
        options.register_activities(OnCall { runner });
    });
    let env = builder.start().await?;
    let page = Page { service: "checkout".to_owned(), alert: "one order in five fails".to_owned() };
    let started = env.start_workflow(Incident::run, page).await?;
    let asked = async {
        loop {
            let asked = WorkflowApprover::pending(env.client(), &started.info().workflow_id).await?;
            match asked.into_iter().next() {
                Some(approval) => return anyhow::Ok(approval),
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    };
    let approval = timeout(PATIENCE, asked).await??;
    for call in approval.wait_for_interruptions().await? {
        assert_eq!((&*call.tool, &*call.arguments), ("restart", r#"{"service":"checkout"}"#));
        approval.decide(AgentDecision::new(&*call.id, verdict.clone())).await?;
    }
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities().len(), 1);
    let report = run.output()?;
    env.finish().await?;
    Ok(report)
}

fn report(done: &str) -> Report {
    let fact = |fact: &str| Finding { fact: fact.to_owned() };
    Report {
        conclusion: Conclusion {
            severity: Severity::High,
            cause: "v42 leaks connections".to_owned(),
            done: done.to_owned(),
        },
        findings: vec![fact("the connections to the database run out"), fact("v42 keeps connections open")],
    }
}

#[tokio::test]
async fn a_restart_that_is_approved_is_made_by_the_server() -> anyhow::Result<()> {
    assert_eq!(triaged(Verdict::Approve).await?, report("restarted; roll v42 back"));
    Ok(())
}

#[tokio::test]
async fn a_restart_that_is_refused_is_not_made() -> anyhow::Result<()> {
    assert_eq!(triaged(Verdict::Reject { message: None }).await?, report("nothing; roll v42 back"));
    Ok(())
}
