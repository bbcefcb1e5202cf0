//! Traces of runs with guardrails and with a session, on every host.

use std::{collections::BTreeMap, sync::Arc};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig, Runner, Tool,
    agent::{GuardrailOutput, InputGuardrail},
    agentic_session::AgenticSession,
    guardrail,
    inline::InlineRunner,
    run::SessionRef,
    tool,
    tool::{ToolGuardrailOutput, ToolInputGuardrail},
    trace::{Otlp, Tracing, export_workflow},
    wire::{Item, ModelCall},
};
use temporal_agents_testing::{
    FakeModel, ReplayCheck, SessionEnvironment,
    fake_model::{Reply, text, tool_call},
    history,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{Traced, by_id},
};
use crate::support::EmptySessions;

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
    let inside = ToolInputGuardrail::new("only_inside", |call| {
        if call.arguments.contains("@example.com") {
            ToolGuardrailOutput::allow()
        } else {
            ToolGuardrailOutput::raise_exception()
        }
    });
    let teller = Agent::new("teller")
        .model("gpt-5")
        .input_guardrail(no_card_numbers)
        .input_guardrail(no_abuse)
        .output_guardrail(no_promises)
        .tool(send.input_guardrail(inside));
    // How far a cancelled judge gets is not deterministic.
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

fn session() -> SessionRef {
    SessionRef::stored("chats", "chat 7")
}

fn resources() -> Resources {
    Resources::new().model_provider(model()).session_store("chats", EmptySessions)
}

#[workflow]
#[derive(Default)]
struct Guarded;

#[workflow_methods]
impl Guarded {
    #[run(name = "guarded")]
    async fn run(ctx: &mut WorkflowContext<Self>, (question, is_stored): (String, bool)) -> WorkflowResult<String> {
        let runner = Runner::new(ctx);
        let runner = if is_stored { runner.session(session()) } else { runner };
        Ok(runner.run(&teller(&question), question).await?.final_output)
    }
}

const PASSES: &str = "\
invoke_workflow guarded
  invoke_agent teller
    session read
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    session add
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
  guardrail no_card_numbers";

const AN_ACTIVITY_STOPS_IT: &str = "\
invoke_workflow guarded
  session read
  guardrail no_abuse";

const A_JUDGE_STOPS_IT: &str = "\
invoke_workflow guarded
  session read
  guardrail no_abuse
  invoke_agent judge
    call_model gpt-5-nano
      chat gpt-5-nano
  guardrail about_banking";

const ITS_OUTPUT_IS_STOPPED: &str = "\
invoke_workflow guarded
  invoke_agent teller
    session read
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    session add
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
    guardrail no_abuse
    invoke_agent judge
      call_model gpt-5-nano
        chat gpt-5-nano
    session add
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
    #[values(true, false)] is_stored: bool,
) -> anyhow::Result<()> {
    let passes = drawn == PASSES;
    let drawn = drawn.lines().filter(|line| is_stored || !line.contains("session ")).collect::<Vec<_>>().join("\n");
    let mut collector = Collector::start().await?;
    let plugin = AgentsPlugin::new(resources()).agents((teller(question),));
    // The cache makes no difference: each case runs with it or without it.
    let traced = Traced::start::<Guarded>(&collector.url, plugin, is_stored).await?;
    // A workflow whose run is stopped fails.
    let ended = traced.run(Guarded::run, (question.to_owned(), is_stored), "guarded", None).await;
    assert_eq!(ended.is_ok(), passes, "{ended:?}");
    traced.tracing.flush().await;
    let count = export_workflow(traced.env.client(), "guarded", &Otlp::new(&collector.url)?).await?;
    let (live, of_history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    assert_eq!(tree(&live), drawn);
    assert_eq!(by_id(&live), by_id(&of_history));
    let replays = ReplayCheck::new().workflow::<Guarded>()?;
    let recorded = history::fetch(traced.env.client(), "guarded", None).await?;
    replays.replay(&recorded).await?;
    replays.replay_without_cache(&recorded).await?;
    traced.env.finish().await?;

    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let runner = local_runner(&tracing, is_stored);
    let ended = runner.run(&teller(question), question).await;
    assert_eq!(ended.is_ok(), passes, "{ended:?}");
    tracing.flush().await;
    let local = collector.spans(drawn.lines().count()).await?;
    assert_eq!(tree(&local), drawn);
    assert_eq!(triggered(&local), triggered(&live));

    let env = SessionEnvironment::new().register_activities(move || Guards { runner: runner.clone() });
    let attempt = env.attempt().run(Guards::guarded, question.to_owned()).await;
    assert_eq!(attempt.result.is_ok(), passes, "{:?}", attempt.result);
    tracing.flush().await;
    let first = collector.spans(drawn.lines().count()).await?;
    assert_eq!(tree(&first), drawn);
    assert_eq!(triggered(&first), triggered(&live));
    drop(collector);
    // Attempts that continue from a checkpoint send the same spans, or a part of them.
    let names: BTreeMap<&str, &str> = first.iter().map(|span| (&*span.id, &*span.name)).collect();
    let (earliest, latest) = (attempt.checkpoints.first(), attempt.checkpoints.last());
    let checkpoints = earliest.map(|earliest| (earliest, false)).into_iter().chain(latest.map(|latest| (latest, true)));
    for (checkpoint, is_latest) in checkpoints {
        let collector = Collector::start().await?;
        let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
        let runner = local_runner(&tracing, is_stored);
        let env = SessionEnvironment::new().register_activities(move || Guards { runner: runner.clone() });
        let ended = env.attempt_from(checkpoint)?.run(Guards::guarded, question.to_owned()).await;
        assert_eq!(ended.result.is_ok(), passes, "{:?}", ended.result);
        tracing.flush().await;
        let again = collector.end().await?;
        assert!(again.iter().any(|span| span.operation() == "invoke_workflow"), "{again:#?}");
        for span in &again {
            assert_eq!(names.get(&*span.id), Some(&&*span.name), "{span:#?}");
        }
        let mut united: BTreeMap<&str, &Span> = first.iter().map(|span| (&*span.id, span)).collect();
        united.extend(again.iter().map(|span| (&*span.id, span)));
        let united: Vec<Span> = united.into_values().cloned().collect();
        assert_eq!(parents(&united), parents(&first));
        if passes && is_latest {
            assert_eq!(tree(&united), drawn);
        }
    }
    Ok(())
}

/// The parent of each span.
fn parents(spans: &[Span]) -> BTreeMap<&str, &str> {
    spans.iter().map(|span| (&*span.id, &*span.parent)).collect()
}

/// A runner without Temporal.
fn local_runner(tracing: &Tracing, is_stored: bool) -> InlineRunner {
    let config = RunConfig::builder().workflow_name("guarded").maybe_session(is_stored.then(session)).build();
    InlineRunner::with_config(resources(), config).tracer(tracing.tracer())
}

struct Guards {
    runner: InlineRunner,
}

#[activities]
impl Guards {
    #[activity]
    async fn guarded(self: Arc<Self>, ctx: ActivityContext, question: String) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.runner).run(&teller(&question), question).await?.final_output)
        })
        .await
    }
}

/// The guardrails with their verdicts.
fn triggered(spans: &[Span]) -> Vec<(String, Option<serde_json::Value>)> {
    let guardrails = spans.iter().filter(|span| span.operation() == "guardrail");
    let triggered = |span: &Span| span.attributes.get("temporal_agents.guardrail.triggered").cloned();
    let mut all: Vec<_> = guardrails.map(|span| (span.name.clone(), triggered(span))).collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}
