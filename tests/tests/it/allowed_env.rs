//! Variables of the worker that may go to one destination: they go there, and nowhere else, whatever a definition says.

use rstest::rstest;
use serde_json::{Map, Value, json};
use temporal_agents::{
    Agent, Resources, Runner, ToolError,
    inline::InlineRunner,
    mcp::McpTransport,
    provider::OpenAi,
    tool,
    tool::{McpServer, Tool, ToolContext, ToolDef},
    wire::ModelSettings,
    worker::{Destination, ToolRegistry},
    worker_env,
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

/// Cargo sets it for tests.
const NAME: &str = "CARGO_PKG_DESCRIPTION";

fn value() -> String {
    std::env::var(NAME).expect("cargo runs the tests")
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn hosted(server_url: &Value) -> Agent {
    let crm = json!({
        "type": "mcp",
        "server_label": "crm",
        "server_url": server_url,
        "authorization": worker_env!("CARGO_PKG_DESCRIPTION"),
    });
    Agent::new("desk").model("gpt-5").hosted_tool("crm", crm)
}

fn with_settings(settings: ModelSettings) -> Agent {
    Agent::new("desk").model("gpt-5").settings(settings)
}

async fn server() -> MockServer {
    let message = json!({
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
    });
    let body = json!({"id": "resp_1", "status": "completed", "output": [message]});
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(200).set_body_json(body)).mount(&server).await;
    server
}

fn provider(server: &MockServer) -> OpenAi {
    let openai = OpenAi::builder().api_key("none").base_url(format!("{}/v1", server.uri()));
    openai.build().expect("a configuration")
}

/// What a run of the agent ends with, and whether the provider was sent the value.
async fn run(agent: &Agent, to: Destination) -> (Result<String, String>, bool) {
    let server = server().await;
    let runner = InlineRunner::new(Resources::new().model_provider(provider(&server)).allow_env_for(to, [NAME]));
    let ended = runner.run(agent, "Hello.").await;
    let ended = ended.map(|result| result.final_output).map_err(|error| error.to_string());
    let requests = server.received_requests().await.expect("requests are recorded");
    let sent = requests.iter().any(|request| {
        String::from_utf8_lossy(&request.body).contains(&value())
            || request.headers.values().any(|header| header.to_str().is_ok_and(|text| text.contains(&value())))
            || request.url.query_pairs().any(|(_, text)| text.contains(&value()))
    });
    assert!(sent || requests.is_empty(), "without the value nothing is sent");
    (ended, sent)
}

#[rstest]
#[case::evil(json!("https://evil.test/mcp"), Some("the host \"evil.test\" of a hosted tool"))]
#[case::subdomain(json!("https://mcp.example.com.evil.test"), Some("the host \"mcp.example.com.evil.test\" of a hosted tool"))]
#[case::other_port(json!("https://mcp.example.com:8443"), Some("the host \"mcp.example.com:8443\" of a hosted tool"))]
#[case::user(json!("https://mcp.example.com@evil.test"), None)]
#[case::user_with_port(json!("https://mcp.example.com:443@evil.test"), None)]
#[case::backslash(json!("https://evil.test\\@mcp.example.com"), None)]
#[case::plain_http(json!("http://mcp.example.com"), None)]
#[case::by_reference(worker_env!("CARGO_PKG_DESCRIPTION"), None)]
#[tokio::test]
async fn a_hosted_tool_at_another_address_does_not_get_it(#[case] server_url: Value, #[case] named: Option<&str>) {
    for to in [
        Destination::mcp_server("crm"),
        Destination::provider("openai"),
        Destination::tool("crm"),
        Destination::hosted_tool_host("mcp.example.com"),
    ] {
        let (ended, sent) = run(&hosted(&server_url), to).await;
        let error = ended.expect_err("it is refused");
        assert!(!sent);
        assert!(error.contains(NAME), "{error}");
        let as_credential = "there only as a credential";
        let is_named = error.contains(named.unwrap_or("the destination here cannot be determined"));
        assert!(is_named || error.contains(as_credential), "{error}");
    }
}

#[rstest]
#[case("https://mcp.example.com/sse")]
#[case("HTTPS://MCP.example.COM.:443")]
#[tokio::test]
async fn a_hosted_tool_at_the_address_gets_it(#[case] server_url: &str) {
    let (ended, sent) = run(&hosted(&json!(server_url)), Destination::hosted_tool_host("mcp.example.com")).await;
    assert_eq!((ended, sent), (Ok("Done.".to_owned()), true));
}

#[rstest]
#[case::headers(ModelSettings::builder().extra_headers(object(&json!({"x-tenant": worker_env!("CARGO_PKG_DESCRIPTION")}))).build())]
#[case::query(ModelSettings::builder().extra_query(object(&json!({"tenant": worker_env!("CARGO_PKG_DESCRIPTION")}))).build())]
#[tokio::test]
async fn settings_go_to_the_provider_that_serves_the_model(#[case] settings: ModelSettings) {
    let (ended, sent) = run(&with_settings(settings.clone()), Destination::provider("openai")).await;
    assert_eq!((ended, sent), (Ok("Done.".to_owned()), true));
    for to in [Destination::provider("azure"), Destination::mcp_server("openai")] {
        let (ended, sent) = run(&with_settings(settings.clone()), to).await;
        let error = ended.expect_err("it is refused");
        let fix = format!("add Resources::allow_env_for(Destination::provider(\"openai\"), [{NAME:?}]) if");
        assert!(error.contains(&fix) && !sent, "{error}");
    }
}

#[tokio::test]
async fn what_the_model_could_read_does_not_get_a_bound_variable() {
    let body = |value: Value| with_settings(ModelSettings::builder().extra_body(object(&value)).build());
    for agent in [
        body(json!({"instructions": worker_env!("CARGO_PKG_DESCRIPTION")})),
        body(json!({"tools": [{"type": "mcp", "server_description": worker_env!("CARGO_PKG_DESCRIPTION")}]})),
    ] {
        let (ended, sent) = run(&agent, Destination::provider("openai")).await;
        let error = ended.expect_err("it is refused");
        assert!(error.contains("there only as a credential") && !sent, "{error}");
    }
}

#[tokio::test]
async fn hosted_tools_in_the_extra_body_do_not_get_what_the_provider_may_have() {
    let tools = json!([{"type": "mcp", "server_url": "https://evil.test", "authorization": worker_env!("CARGO_PKG_DESCRIPTION")}]);
    let settings = ModelSettings::builder().extra_body(object(&json!({"tools": tools}))).build();
    let (ended, sent) = run(&with_settings(settings), Destination::provider("openai")).await;
    let error = ended.expect_err("it is refused");
    assert!(error.contains("the host \"evil.test\" of a hosted tool") && !sent, "{error}");
}

#[rstest]
#[case("Cookie")]
#[case("cf-aig-authorization")]
#[case("Ocp-Apim-Subscription-Key")]
#[case("x-auth-token")]
#[tokio::test]
async fn a_credential_header_takes_a_reference_and_no_literal(#[case] name: &str) {
    let settings = |value: Value| {
        let headers = Map::from_iter([(name.to_owned(), value)]);
        with_settings(ModelSettings::builder().extra_headers(headers).build())
    };
    let (ended, _) = run(&settings(json!("a literal key")), Destination::provider("openai")).await;
    let error = ended.expect_err("it is refused");
    assert!(error.contains(&format!("a literal `{name}` in extra_headers")), "{error}");
    let (ended, sent) = run(&settings(worker_env!("CARGO_PKG_DESCRIPTION")), Destination::provider("openai")).await;
    assert_eq!((ended, sent), (Ok("Done.".to_owned()), true));
}

/// How long the value in its settings is.
#[tool(start_to_close = "5s")]
async fn measure(ctx: &mut ToolContext) -> Result<usize, ToolError> {
    Ok(ctx.setting::<String>("token").map_or(0, |token| token.len()))
}

fn measuring() -> ToolDef {
    measure.definition().setting("token", worker_env!("CARGO_PKG_DESCRIPTION"))
}

#[tokio::test]
async fn a_tool_of_another_name_does_not_get_it() -> anyhow::Result<()> {
    let registry = |to| ToolRegistry::new(Resources::new().allow_env_for(to, [NAME])).register(measuring());
    let answered = registry(Destination::tool("measure"))?.dispatch("measure", "{}").await?;
    assert_eq!(answered.text(), value().len().to_string());
    for to in [Destination::tool("others"), Destination::provider("measure")] {
        let answered = registry(to)?.dispatch("measure", "{}").await?;
        assert!(answered.is_error(), "{}", answered.text());
    }
    Ok(())
}

#[tokio::test]
async fn an_mcp_server_of_another_name_does_not_get_it() {
    let transport =
        || McpTransport::streamable_http("http://127.0.0.1:9/mcp").bearer(worker_env!("CARGO_PKG_DESCRIPTION"));
    for (to, is_refused) in [
        (Destination::mcp_server("crm"), false),
        (Destination::mcp_server("tickets"), true),
        (Destination::hosted_tool_host("127.0.0.1"), true),
    ] {
        let agent: Agent = Agent::new("desk").model("m").mcp_server(McpServer::named("crm"));
        let resources = Resources::new()
            .model_provider(FakeModel::script([fake_model::text("Done.")]))
            .mcp_server("crm", transport())
            .allow_env_for(to, [NAME]);
        let runner = InlineRunner::new(resources).first_pause(std::time::Duration::ZERO);
        let error = runner.run(&agent, "Hello.").await.expect_err("nothing listens there");
        let message = chain(&error);
        let refusal = "only to other destinations; add Resources::allow_env_for(Destination::mcp_server(\"crm\"), [";
        assert_eq!(message.contains(refusal), is_refused, "{message}");
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes: Vec<String> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    causes.join("; ")
}

fn desk() -> Agent {
    hosted(&json!("https://evil.test"))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Careless;

#[workflow_methods]
impl Careless {
    #[run(name = "careless desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(), request).await?.final_output)
    }
}

#[tokio::test]
async fn a_durable_call_with_such_a_definition_fails_once_and_says_what_would_allow_it() -> anyhow::Result<()> {
    let server = server().await;
    let builder = AgentEnvironment::builder().workflow::<Careless>()?.model_provider(provider(&server)).agents((desk,));
    let allow = |resources: Resources| resources.allow_env_for(Destination::mcp_server("crm"), [NAME]);
    let env = builder.resources(allow).start().await?;
    let run = env.run(Careless::run, "Hello.".to_owned()).await?;
    assert_eq!(server.received_requests().await.expect("requests are recorded").len(), 0);
    assert_eq!(run.activities()[0].attempts, 1);
    let expected = "the agent refers to the environment variable \"CARGO_PKG_DESCRIPTION\", which this worker does \
                    not send to the host \"evil.test\" of a hosted tool, only to other destinations; add \
                    Resources::allow_env_for(Destination::hosted_tool_host(\"evil.test\"), \
                    [\"CARGO_PKG_DESCRIPTION\"]) if it may be sent there";
    let chain = run.failure_chain();
    assert!(
        chain.iter().any(|(kind, text)| kind == "ModelInvocationError.Unsupported" && text == expected),
        "{chain:?}"
    );
    env.finish().await?;
    Ok(())
}
