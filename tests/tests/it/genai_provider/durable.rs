//! A workflow on the dev server whose model is Anthropic's, and whose tools fail and succeed; the environment replays it.

use std::sync::atomic::{AtomicUsize, Ordering};

use prost::Message;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{Agent, Resources, Runner, inline::InlineRunner};
use temporal_agents_testing::{AgentEnvironment, environment::ActivityOutcome};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use wiremock::{Mock, MockServer, Respond, ResponseTemplate, matchers};

use super::{CLAUDE, KEY, body, builder, says};
use crate::support::{Stock, stock_of};

fn clerk() -> Agent {
    Agent::new("clerk").model(CLAUDE).instructions("You know the stock.").tool(stock_of)
}

#[workflow]
#[derive(Default)]
struct Counter;

#[workflow_methods]
impl Counter {
    #[run(name = "counter")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&clerk(), question).await?.final_output)
    }
}

/// Answers one after another.
struct Script(Vec<ResponseTemplate>, AtomicUsize);

impl Respond for Script {
    fn respond(&self, _: &wiremock::Request) -> ResponseTemplate {
        let next = self.1.fetch_add(1, Ordering::SeqCst);
        self.0.get(next).cloned().unwrap_or_else(|| ResponseTemplate::new(404))
    }
}

fn stock_call(id: &str, product: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "stock_of", "input": {"product": product}})
}

fn thinking() -> Value {
    json!({"type": "thinking", "thinking": "hm", "signature": "sig1"})
}

/// A model that calls two tools, is overloaded once, and answers.
async fn anthropic() -> MockServer {
    let called = says(json!([thinking(), stock_call("toolu_1", "bolt"), stock_call("toolu_2", "nothing")]), "tool_use");
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let script = Script(
        vec![
            ResponseTemplate::new(200).set_body_json(called),
            ResponseTemplate::new(529).insert_header("retry-after-ms", "1").set_body_json(busy),
            ResponseTemplate::new(200).set_body_json(says(json!([{"type": "text", "text": "3 bolts"}]), "end_turn")),
        ],
        AtomicUsize::new(0),
    );
    let server = MockServer::start().await;
    Mock::given(matchers::path("/v1/messages")).respond_with(script).mount(&server).await;
    server
}

async fn bodies(server: &MockServer) -> Vec<Value> {
    server.received_requests().await.expect("requests are recorded").iter().map(body).collect()
}

#[rstest]
#[case::with_the_workflow_cache(true)]
#[case::without_the_workflow_cache(false)]
#[tokio::test]
async fn a_run_with_tools_is_durable(#[case] cached: bool) -> anyhow::Result<()> {
    let server = anthropic().await;
    let provider = builder("anthropic", &server).build()?;
    let mut environment =
        AgentEnvironment::builder().workflow::<Counter>()?.model_provider(provider).state(Stock(3)).agents((clerk,));
    if !cached {
        environment = environment.without_workflow_cache();
    }
    let env = environment.start().await?;
    let run = env.run(Counter::run, "How many?".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let done = |kind: &str, attempts| (kind.to_owned(), attempts, ActivityOutcome::Completed);
    assert_eq!(
        activities,
        [
            done("agents.call_model", 1),
            done("agents.tool.stock_of", 1),
            ("agents.tool.stock_of".to_owned(), 1, ActivityOutcome::Failed("ToolError".to_owned())),
            done("agents.call_model", 2),
        ]
    );
    assert_eq!(run.failed_workflow_tasks(), 0);
    let history = run.history.encode_to_vec();
    assert!(!contains(&history, KEY.as_bytes()), "the key is in history");
    assert_eq!(run.output()?, "3 bolts");
    env.finish().await?;

    let durable = bodies(&server).await;
    assert_eq!(durable.len(), 3);
    assert_eq!(durable[1], durable[2], "an attempt is asked again in the same words");
    assert_eq!(
        durable[2]["messages"],
        json!([
            {"role": "user", "content": "How many?"},
            {
                "role": "assistant",
                "content": [thinking(), stock_call("toolu_1", "bolt"), stock_call("toolu_2", "nothing")],
            },
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such product", "is_error": true},
            ]},
        ])
    );

    let server = anthropic().await;
    let runner =
        InlineRunner::new(Resources::new().model_provider(builder("anthropic", &server).build()?).state(Stock(3)));
    assert_eq!(runner.run(&clerk(), "How many?").await?.final_output, "3 bolts");
    assert_eq!(bodies(&server).await, durable, "the same is asked without Temporal");
    Ok(())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
