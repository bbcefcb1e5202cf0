//! Traces of runs with guardrails and with a session: in workflows, and in this process.

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig, Runner, Tool,
    agent::{GuardrailOutput, InputGuardrail},
    guardrail,
    inline::InlineRunner,
    run::SessionRef,
    store::Session,
    tool,
    tool::{BoxError, ToolGuardrailOutput, ToolInputGuardrail},
    trace::{Otlp, Tracing, export_workflow},
    wire::{Item, ModelCall},
};
use temporal_agents_testing::{
    FakeModel, ReplayCheck,
    fake_model::{Reply, text, tool_call},
    history,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{Traced, by_id},
};

/// Card numbers go to no model.
#[guardrail(input, blocking)]
fn no_card_numbers(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("4111"))
}

/// A service decides whether this is abuse.
#[guardrail(input, activity, blocking)]
async fn no_abuse(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("thieves"))
}

/// No answer promises anything.
#[guardrail(output)]
fn no_promises(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("guarantee"))
}

fn about_banking() -> InputGuardrail {
    let judge = Agent::new("judge").model("gpt-5-nano");
    InputGuardrail::by_agent("about_banking", judge, |answer| GuardrailOutput::trip_if(answer != "yes")).blocking()
}

/// Sends a letter.
#[tool]
async fn send(to: String) -> String {
    format!("sent to {to}")
}

/// The teller, with a judge if the question is one for it.
fn teller(question: &str) -> Agent {
    let inside = ToolInputGuardrail::new("only_inside", |call| match call.arguments.contains("@example.com") {
        true => ToolGuardrailOutput::allow(),
        false => ToolGuardrailOutput::raise_exception(),
    });
    let teller = Agent::new("teller")
        .model("gpt-5")
        .input_guardrail(no_card_numbers)
        .input_guardrail(no_abuse)
        .output_guardrail(no_promises)
        .tool(send.input_guardrail(inside));
    // One that is cancelled has got as far as it has, by chance.
    if question.contains("thieves") { teller } else { teller.input_guardrail(about_banking()) }
}

fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let question = call.input.iter().find_map(Item::text).unwrap_or_default();
        match (&*call.agent, call.turn) {
            ("judge", _) => text(if question.contains("rain") { "no" } else { "yes" }),
            (_, 1) if question.contains("outside") => tool_call("send", json!({"to": "a@example.org"})),
            (_, 1) => tool_call("send", json!({"to": "a@example.com"})),
            _ if question.contains("promise") => text("I guarantee it."),
            _ => text("done"),
        }
    })
}

struct Empty;

impl Session for Empty {
    fn items<'a>(&'a self, _: &'a str, _: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn add<'a>(&'a self, _: &'a str, _: Vec<Item>, _: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Ok(()) })
    }
}

fn session() -> SessionRef {
    SessionRef::Stored { store: "chats".to_owned(), session_id: "chat 7".to_owned(), limit: None }
}

fn resources() -> Resources {
    Resources::new().model_provider(model()).session_store("chats", Empty)
}

#[workflow]
#[derive(Default)]
struct Guarded;

#[workflow_methods]
impl Guarded {
    #[run(name = "guarded")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).session(session()).run(&teller(&question), question).await?.final_output)
    }
}

const PASSES: &str = "\
invoke_workflow guarded
  invoke_agent teller
    session read
    session add
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    call_model gpt-5
      chat gpt-5
    call_tool send
      execute_tool send
    session add
    call_model gpt-5
      chat gpt-5
    session add";

const A_FUNCTION_STOPS_IT: &str = "\
invoke_workflow guarded
  session read
  session add
  guardrail no_card_numbers";

const AN_ACTIVITY_STOPS_IT: &str = "\
invoke_workflow guarded
  session read
  session add
  guardrail no_abuse";

const A_JUDGE_STOPS_IT: &str = "\
invoke_workflow guarded
  session read
  session add
  guardrail no_abuse
  invoke_agent judge
    call_model gpt-5-nano
      chat gpt-5-nano
  guardrail about_banking";

const ITS_OUTPUT_IS_STOPPED: &str = "\
invoke_workflow guarded
  invoke_agent teller
    session read
    session add
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    call_model gpt-5
      chat gpt-5
    call_tool send
      execute_tool send
    session add
    call_model gpt-5
      chat gpt-5
    guardrail no_promises";

const A_CALL_STOPS_IT: &str = "\
invoke_workflow guarded
  invoke_agent teller
    session read
    session add
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    call_model gpt-5
      chat gpt-5
    guardrail only_inside";

#[rstest]
#[case::passes("A transfer.", PASSES)]
#[case::a_function_stops_it("My card is 4111.", A_FUNCTION_STOPS_IT)]
#[case::an_activity_stops_it("You are thieves.", AN_ACTIVITY_STOPS_IT)]
#[case::a_judge_stops_it("Will it rain?", A_JUDGE_STOPS_IT)]
#[case::its_output_is_stopped("A promise, please.", ITS_OUTPUT_IS_STOPPED)]
#[case::a_call_of_a_tool_stops_it("Write outside.", A_CALL_STOPS_IT)]
#[tokio::test]
async fn guardrails_and_sessions_have_the_same_spans_on_every_host(
    #[case] question: &str,
    #[case] drawn: &str,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let plugin = AgentsPlugin::new(resources()).agents((teller(question),));
    let traced = Traced::start::<Guarded>(&collector.url, plugin, question.len() % 2 == 0).await?;
    // A workflow whose run is stopped fails.
    let ended = traced.run(Guarded::run, question.to_owned(), "guarded", None).await;
    assert_eq!(ended.is_ok(), drawn == PASSES, "{ended:?}");
    traced.tracing.flush().await;
    let count = export_workflow(traced.env.client(), "guarded", &Otlp::new(&collector.url)?).await?;
    let (live, of_history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    let durable = tree(&live);
    assert_eq!(by_id(&live), by_id(&of_history));
    let replays = ReplayCheck::new().workflow::<Guarded>()?;
    let recorded = history::fetch(traced.env.client(), "guarded", None).await?;
    replays.replay(&recorded).await?;
    replays.replay_without_cache(&recorded).await?;
    traced.env.finish().await?;

    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let config = RunConfig::builder().workflow_name("guarded").session(session()).build();
    let runner = InlineRunner::with_config(resources(), config).tracer(tracing.tracer());
    let ended = runner.run(&teller(question), question).await;
    assert_eq!(ended.is_ok(), drawn == PASSES, "{ended:?}");
    tracing.flush().await;
    let local = collector.end().await?;
    assert_eq!(tree(&local), durable);
    assert_eq!(triggered(&local), triggered(&live));
    assert_eq!(durable, drawn);
    Ok(())
}

/// The guardrails, and what they say.
fn triggered(spans: &[Span]) -> Vec<(String, Option<serde_json::Value>)> {
    let guardrails = spans.iter().filter(|span| span.operation() == "guardrail");
    let triggered = |span: &Span| span.attributes.get("temporal_agents.guardrail.triggered").cloned();
    let mut all: Vec<_> = guardrails.map(|span| (span.name.clone(), triggered(span))).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}
