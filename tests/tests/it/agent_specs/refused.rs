//! Requests and specs that are refused, each with the reason and the remedy.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, ready},
};
use serde_json::{Value, json};
use temporal_agents::{
    AgentsPlugin, Model, ModelProvider, Resources, RunConfig,
    agent::SpecParts,
    provider::ModelError,
    wire::{AgentRequest, SpecRef},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ModelActivityOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun, MemoryAgentStore, environment::activities, fake_model::text, history,
};
use temporalio_sdk::WorkerOptions;
use tokio::time::timeout;

use super::{clerk, environment, set, store};

/// A provider of one model.
struct Only(&'static str, FakeModel);

impl ModelProvider for Only {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        if name == self.0 { self.1.model(name) } else { ready(Ok(None)).boxed() }
    }
}

async fn start(env: &AgentEnvironment, request: &Value) -> anyhow::Result<FinishedRun<Value>> {
    let request: AgentRequest = serde_json::from_value(request.clone())?;
    Ok(env.run(AgentWorkflow::run, request).await?)
}

/// The failure chain of a run that has failed at no workflow task.
async fn failed(env: &AgentEnvironment, request: &Value) -> anyhow::Result<Vec<(String, String)>> {
    let run = start(env, request).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    Ok(run.failure_chain())
}

async fn environment_of(set: &AgentSet, store: &MemoryAgentStore) -> anyhow::Result<AgentEnvironment> {
    let known = FakeModel::function(|_, _| text("Hello."));
    Ok(environment(set, store, true)?.model_provider(known).start().await?)
}

#[tokio::test]
async fn an_unknown_name_or_version_fails_at_once_and_lists_what_there_is() -> anyhow::Result<()> {
    let env = environment_of(&set(10_000), &store()).await?;
    let cases = [
        ("desc", None, "the store has no agent \"desc\"; did you mean \"desk\"? (there are: billing, desk)"),
        ("nobody", Some(1), "the store has no agent \"nobody\" (there are: billing, desk)"),
        ("desk", Some(7), "agent \"desk\" has no version 7; its versions are 1 to 1"),
    ];
    for (name, version, reason) in cases {
        let chain = failed(&env, &json!({"spec": {"name": name, "version": version}, "input": "Hello."})).await?;
        let message = format!("agent {name:?} cannot be run from its spec: UnknownAgentSpec: {reason}");
        assert_eq!(chain[0], ("AgentsWorkflowError".to_owned(), message));
        assert_eq!(chain[2], ("UnknownAgentSpec".to_owned(), reason.to_owned()));
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn everything_that_is_wrong_is_reported_at_once_and_no_model_is_called() -> anyhow::Result<()> {
    let store = store();
    let tools = json!(["find_ordr", {"name": "refund", "needs_approval": false}]);
    let wrong = json!({
        "name": "wrong", "model": "gpt-5", "tools": tools, "hosted_tools": ["web_search"],
        "handoffs": ["billng", "typo"], "settings": {"extra_body": {"tools": []}},
    });
    store.add("wrong", wrong);
    store.add("typo", json!({"name": "typo", "mdel": "gpt-5"}));
    let env = environment_of(&set(10_000), &store).await?;
    let chain = failed(&env, &json!({"spec": {"name": "wrong"}, "input": "Hello."})).await?;
    let [(_, message), ..] = &*chain else { panic!("{chain:?}") };
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(
        lines,
        [
            "agent \"wrong\" cannot be run from its spec: 6 things are wrong with the spec:",
            "- agent \"wrong\" hands off to \"billng\", of which there is no spec; did you mean \"billing\"?; store it \
             first",
            "- spec \"typo\": mdel is unknown; did you mean \"model\"?",
            "- agent \"wrong\" has the setting \"extra_body\", which is merged into the provider's request and was not \
             opened; remove it, or open such settings with SpecParts::open_extra_settings",
            "- agent \"wrong\" has the unknown tool \"find_ordr\"; did you mean \"find_order\"?; SpecParts::tool adds \
             one",
            "- agent \"wrong\" sets needs_approval to false for tool \"refund\", whose own rule asks for approvals; \
             remove the member: a spec can only add approvals, and AgentSet::specs decides what a tool asks for",
            "- agent \"wrong\" has the hosted tool \"web_search\", which the operator has not opened; \
             SpecParts::hosted_tool opens one (open: none)",
        ]
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_model_that_no_provider_serves_is_reported_where_that_is_known() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    store.add("desk", json!({"model": "gpt-6"}));
    let request = json!({"spec": {"name": "desk"}, "input": "Hello."});
    let model = || Only("gpt-5", FakeModel::script([]));
    let env = environment(&set(10_000), &store, true)?.model_provider(model()).start().await?;
    let chain = failed(&env, &request).await?;
    assert!(
        chain[0].1.ends_with(
            "- agent \"desk\" has the model \"gpt-6\", which no model provider of the worker serves; correct its name"
        ),
        "{chain:?}"
    );
    env.finish().await?;
    // Models that are called on another task queue are those of another worker.
    let elsewhere = ModelActivityOptions::builder().task_queue("models").build();
    let env = environment(&set(10_000).model_activity(elsewhere), &store, true)?;
    let env = env.model_provider(model()).start().await?;
    let started = env.start_workflow(AgentWorkflow::run, serde_json::from_value(request)?).await?;
    let is_called = async {
        loop {
            let history = history::fetch(env.client(), &started.info().workflow_id, None).await?;
            if activities(&history).iter().any(|activity| activity.activity_type == "agents.call_model") {
                return anyhow::Ok(());
            }
        }
    };
    timeout(Duration::from_mins(1), is_called).await??;
    Ok(())
}

#[tokio::test]
async fn a_request_for_a_spec_is_refused_where_the_workflow_runs_none() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((clerk,))))?
        .model_provider(FakeModel::script([]))
        .agents((clerk,))
        .start()
        .await?;
    let chain = failed(&env, &serde_json::to_value(AgentRequest::of_spec(SpecRef::new("desk", 1), "Hello."))?).await?;
    let message = "an agent as data is refused: the workflow runs none; AgentSet::specs permits it (agent \"desk\")";
    assert_eq!(chain, [("AgentsWorkflowError".to_owned(), message.to_owned())]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn callers_can_neither_bring_a_record_nor_run_a_spec_under_the_name_of_another_agent() -> anyhow::Result<()> {
    let store = store();
    store.add("clerk", json!({"model": "gpt-5"}));
    let env = environment_of(&set(10_000), &store).await?;
    let record = json!([{"version": 1, "spec": {"name": "desk", "model": "gpt-5"}}]);
    let cases = [
        (
            json!({"spec": {"name": "desk"}, "input": "Hello.", "loaded": record}),
            "the run that the input carries is refused: the server does not record that this execution was continued \
             as new from another one, and only a previous execution may leave it data (agent \"\")",
        ),
        (
            json!({"agent": "clerk", "spec": {"name": "desk"}, "input": "Hello."}),
            "the input names agent \"clerk\", and the spec of \"desk\"; name one (agent \"clerk\")",
        ),
        (
            json!({"spec": {"name": "clerk"}, "input": "Hello."}),
            "agent \"clerk\" cannot be run from its spec: one thing is wrong with the spec:\n- the workflow has an \
             agent named \"clerk\" in its code; choose another name for the spec",
        ),
    ];
    for (request, message) in cases {
        let chain = failed(&env, &request).await?;
        assert_eq!(chain[0], ("AgentsWorkflowError".to_owned(), message.to_owned()));
    }
    let chat = json!({"spec": {"name": "desk"}, "loaded": record});
    let run = env.run(ChatWorkflow::run, serde_json::from_value(chat)?).await?;
    assert!(run.failure_chain()[0].1.starts_with("the chat that the input carries is refused"));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn limits_and_guardrails_of_the_workflow_hold_for_specs() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    store.add("tutor", json!({"input_guardrails": ["no_homework"]}));
    let config = RunConfig::builder().model("gpt-5").max_turns(2).context("tenant", "acme").build();
    let env = environment_of(&set(10_000).config(config), &store).await?;
    let spec = json!({"name": "tutor"});
    for (request, message) in [
        (json!({"spec": spec, "input": "Hello.", "max_turns": 9}), "a limit of 9 turns is refused"),
        (json!({"spec": spec, "input": "Hello.", "context": {"tenant": "other"}}), "context key \"tenant\" is refused"),
        (json!({"spec": spec, "input": "Do my homework."}), "input guardrail \"no_homework\" of agent \"tutor\" trip"),
    ] {
        let chain = failed(&env, &request).await?;
        assert!(chain[0].1.starts_with(message), "{chain:?}");
    }
    // A spec without a model has that of the workflow.
    assert_eq!(start(&env, &json!({"spec": spec, "input": "Hello."})).await?.output()?, json!("Hello."));
    env.finish().await?;
    Ok(())
}

#[test]
fn a_worker_without_a_store_or_with_two_parts_of_a_name_does_not_start() {
    let issues = |set: &AgentSet, store: Option<MemoryAgentStore>| {
        let mut resources = Resources::from(FakeModel::script([]));
        if let Some(store) = store {
            resources = resources.agent_store(store);
        }
        let mut options = WorkerOptions::new("queue").build();
        let plugin = AgentsPlugin::new(resources).agents(set);
        plugin.install(&mut options).err().map(|error| error.to_string())
    };
    let missing = issues(&set(0), None).expect("there is no store");
    assert!(missing.ends_with("there is no store of agents; add Resources::agent_store(..)"), "{missing}");
    assert_eq!(issues(&set(0), Some(store())), None);
    let twice = AgentSet::new(()).specs(SpecParts::new().tool(super::refund).tool(super::refund));
    let twice = issues(&twice, Some(store())).expect("two tools have one name");
    assert!(twice.contains("agent \"the parts of specs\" has two tools named \"refund\""), "{twice}");
}
