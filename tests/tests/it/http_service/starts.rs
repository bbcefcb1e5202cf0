//! Runs that are started over HTTP and by a Rust client: the same ids, conflicts and values beside the request.

use axum::http::StatusCode;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    client::{AgentRuns, IdConflict, NewRun},
    wire::AgentRequest,
};
use temporal_agents_testing::{DevServerOptions, FakeModel, fake_model::text};
use temporalio_client::WorkflowDescribeOptions;
use temporalio_common::{UntypedWorkflow, search_attributes::SearchAttributeKey};

use super::{builder, environment, get, post, replica, until};

const RANK: SearchAttributeKey<String> = SearchAttributeKey::keyword("CustomerRank");

/// The door through which a run is started.
#[derive(Clone, Copy, Debug)]
enum Door {
    Http,
    Rust,
}

#[rstest]
#[tokio::test]
async fn a_run_has_its_memo_search_attributes_labels_and_summary(
    #[values(Door::Http, Door::Rust)] door: Door,
) -> anyhow::Result<()> {
    let known = ["--search-attribute".to_owned(), "CustomerRank=Keyword".to_owned()];
    let options = DevServerOptions::builder().extra_args(known.into()).build();
    let env = builder(FakeModel::script([text("paid")]), false)?.server_options(options).start().await?;
    let id = format!("{door:?}-{}", env.task_queue());
    match door {
        Door::Http => {
            let body = json!({
                "agent": "clerk", "input": "Pay me 40.", "id": id, "labels": {"customer": "7"},
                "memo": {"order": {"number": 4711}}, "summary": "Refund of order 4711",
                "details": "For **ann**.",
                "search_attributes": {"CustomerRank": {"keyword": "gold"}},
            });
            assert_eq!(post(&replica(&env), "/runs", &body).await?, (StatusCode::CREATED, json!({"id": id})));
        }
        Door::Rust => {
            let run = NewRun::new(AgentRequest::new("clerk", "Pay me 40.")).id(&*id).label("customer", "7");
            let run = run.memo("order", json!({"number": 4711})).summary("Refund of order 4711");
            let run = run.details("For **ann**.");
            let run = run.search_attribute(RANK.value_set("gold".to_owned()));
            assert_eq!(AgentRuns::new(env.client(), env.task_queue()).start_run(run).await?, id);
        }
    }
    let handle = env.client().get_workflow_handle::<UntypedWorkflow>(&*id);
    let described = handle.describe(WorkflowDescribeOptions::default()).await?;
    assert_eq!(described.memo().get::<Value>("order")?, Some(json!({"number": 4711})));
    let raw = described.raw();
    let attributes = raw.workflow_execution_info.as_ref().and_then(|info| info.search_attributes.clone());
    let set = &attributes.expect("search attributes").indexed_fields["CustomerRank"];
    assert_eq!(serde_json::from_slice::<Value>(&set.data)?, "gold");
    assert_eq!(described.static_summary(), Some("Refund of order 4711"));
    assert_eq!(described.static_details(), Some("For **ann**."));
    let (_, run) = get(&replica(&env), &format!("/runs/{id}")).await?;
    assert_eq!(run["labels"], json!({"customer": "7"}));
    until(&replica(&env), &format!("/runs/{id}"), |run| run["status"] == "completed").await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_caller_chooses_what_an_id_that_exists_means(
    #[values(Door::Http, Door::Rust)] door: Door,
) -> anyhow::Result<()> {
    let env = environment(FakeModel::script([text("first"), text("second")]), false).await?;
    let service = replica(&env);
    let id = format!("{door:?}-{}", env.task_queue());
    let start = async |conflict: IdConflict| match door {
        Door::Http => {
            let body = json!({"agent": "clerk", "input": "hi", "id": id, "id_conflict": conflict});
            let (status, body) = post(&service, "/runs", &body).await?;
            assert!(status == StatusCode::CREATED || body["error"]["code"] == "conflict", "{status} {body}");
            anyhow::Ok(status == StatusCode::CREATED)
        }
        Door::Rust => {
            let run = NewRun::new(AgentRequest::new("clerk", "hi")).id(&*id).id_conflict(conflict);
            match AgentRuns::new(env.client(), env.task_queue()).start_run(run).await {
                Ok(started) => Ok(started == id),
                Err(error) if error.is_conflict() => Ok(false),
                Err(error) => Err(error.into()),
            }
        }
    };
    let execution = async || anyhow::Ok(get(&service, &format!("/runs/{id}")).await?.1["execution"].clone());
    let ended = |run: &Value| run["status"] == "completed";
    assert!(start(IdConflict::Fail).await?);
    until(&service, &format!("/runs/{id}"), ended).await?;
    let first = execution().await?;
    assert!(!start(IdConflict::Fail).await?);
    assert!(start(IdConflict::UseExisting).await?);
    assert_eq!(execution().await?, first, "the run that has ended is the same run");
    assert!(start(IdConflict::UseOpen).await?);
    assert_ne!(execution().await?, first, "it is another one after its end");
    until(&service, &format!("/runs/{id}"), ended).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_is_open_is_the_same_run_or_is_terminated() -> anyhow::Result<()> {
    let mut env = environment(FakeModel::script([text("paid")]), false).await?;
    env.stop_worker().await?;
    let service = replica(&env);
    let id = format!("open-{}", env.task_queue());
    let start = async |conflict: &str| {
        let body = json!({"agent": "clerk", "input": "hi", "id": id, "id_conflict": conflict});
        assert_eq!(post(&service, "/runs", &body).await?.0, StatusCode::CREATED);
        let (_, run) = get(&service, &format!("/runs/{id}")).await?;
        assert_eq!(run["status"], "queued", "no worker has begun it");
        anyhow::Ok(run["execution"].clone())
    };
    let first = start("use_existing").await?;
    assert_eq!(start("use_open").await?, first);
    assert_ne!(start("terminate_open").await?, first);
    env.start_worker()?;
    until(&service, &format!("/runs/{id}"), |run| run["status"] == "completed").await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_id_of_another_workflow_and_values_that_hide_a_run_are_refused() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = replica(&env);
    let chat = json!({"agent": "clerk", "chat": true, "id": "a-chat"});
    assert_eq!(post(&service, "/runs", &chat).await?.0, StatusCode::CREATED);
    let runs = AgentRuns::new(env.client(), env.task_queue());
    for conflict in [IdConflict::UseExisting, IdConflict::UseOpen, IdConflict::TerminateOpen, IdConflict::Fail] {
        let run = NewRun::new(AgentRequest::new("clerk", "hi")).id("a-chat").id_conflict(conflict);
        assert!(runs.start_run(run).await.expect_err("the id is taken").is_conflict());
    }
    assert_eq!(get(&service, "/runs/a-chat").await?.1["kind"], "chat");
    for (member, value) in [
        ("memo", json!({"agents.agent": "other"})),
        ("search_attributes", json!({"TemporalNamespaceDivision": {"keyword": "x"}})),
        ("search_attributes", json!({"CustomerRank": {"word": "x"}})),
        ("search_attributes", json!({"NobodyKnowsIt": {"keyword": "x"}})),
        ("summary", json!("two\nlines")),
        ("details", json!("x".repeat(8 * 1024 + 1))),
        ("id_conflict", json!("maybe")),
    ] {
        let mut body = json!({"agent": "clerk", "input": "hi"});
        body[member] = value;
        let (status, answer) = post(&service, "/runs", &body).await?;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {answer}");
        assert_eq!(answer["error"]["code"], "invalid_request");
    }
    env.finish().await?;
    Ok(())
}
