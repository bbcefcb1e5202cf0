//! What stays on the worker.

use prost::Message;
use rstest::rstest;
use serde_json::Value;
use serde_json::json;
use temporal_agents::{AgentsPlugin, Resources, inline::InlineRunner, mcp::McpTransport, tool::McpServer, worker_env};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history::{self, History},
};

use super::{
    answering::{Answer, AnsweringServer, Asked, tools},
    python::{HttpServer, stdio, with_arguments},
    support::{By, Reached, Workshop, environment, outputs, smith, workshop},
};

/// Whether a history holds this text: in its own fields, or in the bytes of a payload.
pub(super) fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}

#[rstest]
#[tokio::test]
async fn a_factory_makes_connections_with_credentials_that_no_history_has(
    #[values(By::Stdio, By::Http)] by: By,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("backwards", json!({})), text("done")]);
    let Reached { transport: _, http } = by.reach();
    let of_factory = http.as_ref().map(HttpServer::transport);
    let transport = McpTransport::factory(move |argument| {
        let tenant = argument.and_then(|argument| argument["tenant"].as_str().map(str::to_owned));
        let http = of_factory.clone();
        async move {
            let key = format!("key-of-{}", tenant.ok_or("no tenant")?);
            Ok(match http {
                Some(http) => http.bearer(key).into(),
                None => stdio().env("WORKSHOP_TOKEN", key).into(),
            })
        }
    });
    let server = McpServer::named("workshop").argument(json!({"tenant": "acme"}));
    let env = workshop(&smith(server), &model, transport, true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let told = match by {
        By::Stdio => "emca-fo-yek",
        By::Http => "emca-fo-yek reraeB",
    };
    assert_eq!(outputs(&model), [json!(told)]);
    assert_eq!((holds(&run.history, told), holds(&run.history, "key-of-acme")), (true, false));
    env.finish().await?;
    Ok(())
}

/// Cargo sets it for tests, and nothing else here says what it says.
pub(super) const NAME: &str = "CARGO_PKG_DESCRIPTION";

pub(super) fn value() -> String {
    std::env::var(NAME).expect("cargo runs the tests")
}

fn backwards(text: &str) -> String {
    text.chars().rev().collect()
}

/// A way to the server that refers to the variable, and what stands in front of its value there.
fn referring(by: By, http: Option<&HttpServer>) -> (McpTransport, &'static str) {
    match (by, http) {
        (By::Http, Some(http)) => (http.transport().bearer(worker_env!("CARGO_PKG_DESCRIPTION")).into(), "Bearer "),
        _ => (stdio().env("WORKSHOP_TOKEN", worker_env!("CARGO_PKG_DESCRIPTION")).into(), ""),
    }
}

fn quoting() -> FakeModel {
    FakeModel::script([
        tool_calls([("backwards", json!({})), ("quote", json!({"aloud": false})), ("quote", json!({"aloud": true}))]),
        text("done"),
    ])
}

fn quoted(before: &str, secret: &str) -> Vec<Value> {
    vec![
        json!(backwards(&format!("{before}{secret}"))),
        json!(format!("I was given {before}[redacted].")),
        json!(format!("Error executing tool quote: no use for {before}[redacted]")),
    ]
}

#[rstest]
#[tokio::test]
async fn headers_and_variables_may_refer_to_the_worker_s_and_what_quotes_them_is_recorded_without(
    #[values(By::Stdio, By::Http)] by: By,
) -> anyhow::Result<()> {
    let (model, Reached { transport: _, http }) = (quoting(), by.reach());
    let (transport, before) = referring(by, http.as_ref());
    let agent = smith(McpServer::named("workshop"));
    let builder = environment(&agent, transport)?.model(&model).without_workflow_cache();
    let env = builder.resources(|resources| resources.allow_env([NAME])).start().await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(outputs(&model), quoted(before, &value()));
    assert_eq!((holds(&run.history, "[redacted]"), holds(&run.history, &value())), (true, false));
    env.finish().await?;
    Ok(())
}

/// Words that are written where the way to the server is.
const LITERAL: &str = "tok-literal-123456";

#[rstest]
#[case::bearer(|http: &HttpServer| http.transport().bearer(LITERAL).into(), "Bearer ")]
#[case::header(|http: &HttpServer| http.transport().header("Authorization", LITERAL).into(), "")]
#[case::variable(|_: &HttpServer| stdio().env("WORKSHOP_TOKEN", LITERAL).into(), "")]
#[case::argument(|_: &HttpServer| with_arguments(["--token", LITERAL]).into(), "")]
#[case::factory(
    |http: &HttpServer| {
        let http = http.transport();
        McpTransport::factory(move |_| {
            let http = http.clone();
            async move { Ok(http.bearer(LITERAL).into()) }
        })
    },
    "Bearer "
)]
#[tokio::test]
async fn a_literal_credential_is_kept_out_of_what_quotes_it_like_one_that_is_referred_to(
    #[case] transport: impl Fn(&HttpServer) -> McpTransport,
    #[case] before: &str,
) -> anyhow::Result<()> {
    let (model, http) = (quoting(), HttpServer::start());
    let env = workshop(&smith(McpServer::named("workshop")), &model, transport(&http), true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(outputs(&model), quoted(before, LITERAL));
    assert_eq!((holds(&run.history, "[redacted]"), holds(&run.history, LITERAL)), (true, false));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::response_of_a_proxy(|asked: &Asked| Answer::Http(403, format!("no entry for {}", authorization(asked))))]
#[case::refusal_of_the_server(|asked: &Asked| Answer::Refusal(format!("no entry for {}", authorization(asked))))]
#[tokio::test]
async fn an_error_that_quotes_a_literal_credential_is_told_and_recorded_without_it(
    #[case] refusal: fn(&Asked) -> Answer,
) -> anyhow::Result<()> {
    let server = AnsweringServer::start(move |asked: Asked| {
        let answer = match &*asked.method {
            "initialize" => Answer::Session("one".to_owned()),
            "tools/list" => Answer::Result(json!({"tools": tools(["enter"])})),
            _ => refusal(&asked),
        };
        async move { answer }
    })
    .await?;
    let model = FakeModel::script([tool_call("enter", json!({})), text("done")]);
    let options = temporal_agents::tool::ToolActivityOptions::builder().attempts(1).build();
    let agent = smith(McpServer::named("workshop").call_options(options));
    let env = workshop(&agent, &model, server.transport().bearer(LITERAL), true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!((holds(&run.history, "no entry for Bearer"), holds(&run.history, LITERAL)), (true, false));
    let last = format!("{:?}", model.calls().last());
    assert!(!last.contains(LITERAL), "{last}");
    env.finish().await?;
    Ok(())
}

fn authorization(asked: &Asked) -> &str {
    asked.authorization.as_deref().unwrap_or_default()
}

#[tokio::test]
async fn the_argument_of_a_factory_may_refer_to_a_variable_and_history_has_the_reference() -> anyhow::Result<()> {
    let model = quoting();
    let transport = McpTransport::factory(|argument| async move {
        let argument = argument.ok_or("no argument")?;
        Ok(stdio().env("WORKSHOP_TOKEN", argument["token"].as_str().ok_or("no token")?).into())
    });
    let argument = json!({"tenant": "acme", "token": worker_env!("CARGO_PKG_DESCRIPTION")});
    let agent = smith(McpServer::named("workshop").argument(argument));
    let builder = environment(&agent, transport)?.model(&model);
    let env = builder.resources(|resources| resources.allow_env([NAME])).start().await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(outputs(&model), quoted("", &value()));
    let found = ["acme", "$worker_env", NAME, &*value()].map(|text| holds(&run.history, text));
    assert_eq!(found, [true, true, true, false]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_factory_that_quotes_a_secret_in_its_error_does_not_get_it_into_history() -> anyhow::Result<()> {
    let transport = McpTransport::factory(|argument| async move { Err(format!("cannot use {argument:?}").into()) });
    let server = McpServer::named("workshop").argument(worker_env!("CARGO_PKG_DESCRIPTION"));
    let options = temporal_agents::tool::ToolActivityOptions::builder().attempts(1).build();
    let resources =
        Resources::new().model_provider(FakeModel::script([])).mcp_server("workshop", transport).allow_env([NAME]);
    let agent = smith(server.list_options(options));
    let error = InlineRunner::new(resources).run(&agent, "Work.").await.expect_err("it cannot be reached");
    let chain = format!("{error:?} {error}");
    assert_eq!((chain.contains("cannot use"), chain.contains(&value())), (true, false), "{chain}");
    Ok(())
}

#[tokio::test]
async fn a_variable_that_is_not_given_away_ends_the_run_at_once_and_is_named() -> anyhow::Result<()> {
    let (model, (transport, _)) = (FakeModel::script([]), referring(By::Stdio, None));
    let env = workshop(&smith(McpServer::named("workshop")), &model, transport, true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let reason = "McpError.Unsupported: MCP server \"workshop\" refers to the environment variable \
                  \"CARGO_PKG_DESCRIPTION\", which this worker does not send anywhere; add it to \
                  Resources::allow_env if it may be sent to the server";
    let told = format!("the tools of MCP server \"workshop\" (agent \"smith\", turn 1) could not be listed: {reason}");
    assert_eq!(run.failure_chain().into_iter().next(), Some(("AgentsWorkflowError".to_owned(), told)));
    assert_eq!(run.activities()[0].attempts, 1);
    env.finish().await?;
    Ok(())
}

#[test]
fn credentials_are_in_no_debug_output() {
    let http = McpTransport::streamable_http("https://user:SECRET@example.com/?key=SECRET").bearer("SECRET");
    let child = McpTransport::stdio("server", ["--token=SECRET"]).env("TOKEN", "SECRET");
    let shown = format!("{http:?} {child:?} {:?}", McpTransport::from(http.clone()));
    let shown = format!("{shown} {:?}", AgentsPlugin::new(Resources::new().mcp_server("files", child)));
    assert!(!shown.contains("SECRET"), "{shown}");
}
