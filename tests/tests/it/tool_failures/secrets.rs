//! References to variables of the worker: the provider gets the value, history, errors and answers never hold it.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Runner, inline::InlineRunner, provider::OpenAi, wire::ModelSettings, worker_env,
};
use temporal_agents_testing::AgentEnvironment;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::holds;

/// Cargo sets it for tests, and nothing else here says what it says.
const NAME: &str = "CARGO_PKG_DESCRIPTION";

fn value() -> String {
    std::env::var(NAME).expect("cargo runs the tests")
}

fn desk() -> Agent {
    let crm = json!({
        "type": "mcp",
        "server_label": "crm",
        "server_url": "https://crm.test",
        "headers": {"Authorization": worker_env!("CARGO_PKG_DESCRIPTION")},
    });
    let settings = ModelSettings::builder()
        .extra_headers(object(json!({"x-tenant": worker_env!("CARGO_PKG_DESCRIPTION")})))
        .extra_body(object(json!({"safety": {"tokens": [worker_env!("CARGO_PKG_DESCRIPTION")]}})))
        .build();
    Agent::new("desk").model("gpt-5").settings(settings).hosted_tool("crm", crm)
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[workflow]
#[derive(Default)]
pub(crate) struct Desk;

#[workflow_methods]
impl Desk {
    #[run(name = "secretive desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(), request).await?.final_output)
    }
}

async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(answer).mount(&server).await;
    server
}

fn provider(server: &MockServer) -> anyhow::Result<OpenAi> {
    Ok(OpenAi::builder().api_key("none").base_url(format!("{}/v1", server.uri())).build()?)
}

async fn environment(server: &MockServer, names: &[&str]) -> anyhow::Result<AgentEnvironment> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let builder = AgentEnvironment::builder().workflow::<Desk>()?.model_provider(provider(server)?).agents((desk,));
    Ok(builder.resources(|resources| resources.allow_env(names)).start().await?)
}

/// An answer that repeats what it was sent.
fn echo() -> ResponseTemplate {
    let message = json!({
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": format!("you sent {}", value()), "annotations": []}],
    });
    ResponseTemplate::new(200).set_body_json(json!({"id": "resp_1", "status": "completed", "output": [message]}))
}

async fn check_request(server: &MockServer) -> anyhow::Result<()> {
    let requests = server.received_requests().await.expect("requests are recorded");
    let body: Value = serde_json::from_slice(&requests[0].body)?;
    assert_eq!(requests[0].headers.get("x-tenant").and_then(|header| header.to_str().ok()), Some(&*value()));
    assert_eq!(body["safety"], json!({"tokens": [value()]}));
    assert_eq!(body["tools"][0]["headers"], json!({"Authorization": value()}));
    Ok(())
}

#[tokio::test]
async fn the_provider_gets_the_value_and_history_the_reference() -> anyhow::Result<()> {
    let server = server(echo()).await;
    let env = environment(&server, &[NAME]).await?;
    let run = env.run(Desk::run, "Hello.".to_owned()).await?;
    check_request(&server).await?;
    let found = ["$worker_env", NAME, "you sent [redacted]", &*value()].map(|text| holds(&run.history, text));
    assert_eq!(found, [true, true, true, false]);
    assert_eq!(run.output()?, "you sent [redacted]");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_provider_that_quotes_the_value_does_not_get_it_into_history() -> anyhow::Result<()> {
    let body = json!({"error": {"message": format!("bad token {}", value()), "code": value()}});
    let server = server(ResponseTemplate::new(400).set_body_json(body)).await;
    let env = environment(&server, &[NAME]).await?;
    let run = env.run(Desk::run, "Hello.".to_owned()).await?;
    assert_eq!(["bad token [redacted]", &*value()].map(|text| holds(&run.history, text)), [true, false]);
    assert!(run.output().is_err());
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::not_allowed(&["PATH"], "which this worker does not send anywhere; add it to Resources::allow_env")]
#[tokio::test]
async fn a_variable_that_may_not_be_used_fails_at_once_and_is_named(
    #[case] allowed: &[&str],
    #[case] reason: &str,
) -> anyhow::Result<()> {
    let server = server(echo()).await;
    let env = environment(&server, allowed).await?;
    let run = env.run(Desk::run, "Hello.".to_owned()).await?;
    assert_eq!(server.received_requests().await.expect("requests are recorded").len(), 0);
    assert_eq!(run.activities()[0].attempts, 1);
    let found = [NAME, reason, &*value()].map(|text| {
        let chain = run.failure_chain();
        chain.iter().any(|(_, message)| message.contains(text))
    });
    assert_eq!(found, [true, true, false], "{:?}", run.failure_chain());
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named_and_so_is_what_to_do() -> anyhow::Result<()> {
    let server = server(echo()).await;
    let settings = ModelSettings::builder()
        .extra_headers(object(json!({"x-tenant": worker_env!("TEMPORAL_AGENTS_IS_NOT_SET")})))
        .build();
    let agent = Agent::new("desk").model("gpt-5").settings(settings);
    let resources = Resources::new().model_provider(provider(&server)?).allow_env(["TEMPORAL_AGENTS_IS_NOT_SET"]);
    let runner = InlineRunner::new(resources);
    let error = runner.run(&agent, "Hello.").await.expect_err("it is not set").to_string();
    assert!(error.contains("\"TEMPORAL_AGENTS_IS_NOT_SET\", which is not set on this worker"), "{error}");

    let runner = InlineRunner::new(Resources::new().model_provider(provider(&server)?).allow_env([NAME]));
    assert_eq!(runner.run(&desk(), "Hello.").await?.final_output, "you sent [redacted]");
    check_request(&server).await?;
    Ok(())
}
