//! The cost of calls, by the price table of a host: the same on all hosts, and on replay.

use std::{collections::BTreeMap, sync::Arc};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Runner,
    agentic_session::AgenticSession,
    client::{RunEvents, transcript::Transcript},
    inline::InlineRunner,
    metrics::Metrics,
    provider::PriceTable,
    wire::{Cost, EventKind, ModelCall, Usage},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, SessionEnvironment,
    fake_model::{Reply, handoff, text, tool_call},
};
use temporalio_common::data_converters::DataConverter;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use crate::metrics::reader::{Reader, check_conventions};

fn prices() -> PriceTable {
    let models = json!([
        {"model": "gpt-5-mini", "input": "0.25", "cached_input": "0.025", "output": "2"},
        {"model": "gpt-5", "input": "1.25", "output": "10"},
    ]);
    serde_json::from_value(json!({"currency": "USD", "models": models})).expect("a table")
}

fn priced(resources: Resources) -> Resources {
    resources.prices(prices())
}

/// A desk with a translator as a tool, which hands off to an agent whose model has no price.
fn desk() -> Agent {
    let translator = Agent::new("translator").model("gpt-5-mini");
    let translate = translator.as_tool().name("translate").description("Translates.");
    Agent::new("desk").model("gpt-5").tool(translate).handoff(Agent::new("clerk").model("homemade"))
}

fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let outputs = call.input.iter().filter(|item| item.get("output").is_some()).count();
        match (&*call.agent, outputs) {
            ("desk", 0) => tool_call("translate", json!({"input": "a lamp"})),
            ("desk", _) => handoff("clerk"),
            ("translator", _) => {
                let mut usage = Usage::of_tokens(1_000, 10);
                usage.input_tokens_details.cached_tokens = 400;
                text("une lampe").usage(usage)
            }
            _ => text("done"),
        }
    })
}

/// A call of the desk: 100 tokens at 1.25 and 20 at 10 dollars for a million.
const DESK: u64 = 125_000 + 200_000;
/// That of the translator: 600 tokens at 0.25, 400 at 0.025, and 10 at 2 dollars.
const TRANSLATOR: u64 = 150_000 + 10_000 + 20_000;

fn whole() -> (Cost, u64) {
    (Cost::of_billionths("USD", 2 * DESK + TRANSLATOR), 1)
}

fn of(usage: &Usage) -> (Cost, u64) {
    (usage.cost.clone(), usage.unpriced_requests)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Priced;

#[workflow_methods]
impl Priced {
    #[run(name = "priced")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<Value> {
        let result = Runner::new(ctx).run(&desk(), question).await?;
        Ok(json!(result.usage))
    }
}

#[rstest]
#[tokio::test]
async fn a_workflow_records_the_cost_of_each_call_and_replays_with_it(
    #[values(true, false)] is_cached: bool,
) -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader));
    let builder = AgentEnvironment::builder()
        .workflow::<Priced>()?
        .model(&model())
        .agents((desk,))
        .resources(priced)
        .plugin(move |plugin| plugin.metrics(&metrics));
    let builder = if is_cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let run = env.run(Priced::run, "A lamp.".to_owned()).await?;
    let (id, history) = (run.workflow_id.clone(), run.history.clone());
    let usage: Usage = serde_json::from_value(run.output()?)?;
    assert_eq!(of(&usage), whole());
    env.replay(&history).await?;

    let events = RunEvents::of_history(history, &DataConverter::default()).await;
    let mut calls = BTreeMap::new();
    for event in &events {
        match &event.kind {
            EventKind::ModelCallAnswered { usage, .. } => {
                calls.entry(event.agent.clone()).or_insert_with(Usage::default).add(usage);
            }
            // The whole run counts what the runs in it have used.
            EventKind::RunFinished { usage, .. } if event.path.is_empty() => {
                assert_eq!(usage.as_ref().map(of), Some(whole()));
            }
            _ => {}
        }
    }
    let calls: Vec<_> = calls.iter().map(|(agent, usage)| (&**agent, of(usage))).collect();
    let known = |billionths| Cost::of_billionths("USD", billionths);
    assert_eq!(
        calls,
        [("clerk", (Cost::default(), 1)), ("desk", (known(2 * DESK), 0)), ("translator", (known(TRANSLATOR), 0))]
    );

    let transcript = Transcript::of_workflow(env.client(), &id, None).await?;
    let of_runs: Vec<_> = transcript.runs.iter().map(|run| of(&run.usage)).collect();
    assert_eq!(of_runs, [(known(2 * DESK), 1), (known(TRANSLATOR), 0)], "the agent as a tool is a run of its own");
    let page = transcript.to_markdown();
    assert!(page.contains("0.00083 USD without 1 call"), "{page}");

    check_conventions(&reader);
    let costs = reader.all().into_iter().filter(|((name, _), _)| name == "temporal_agents.inference.cost");
    let costs: Vec<_> = costs.map(|((_, labels), values)| (labels["gen_ai.agent.name"].clone(), values.all)).collect();
    assert_eq!(costs, [("desk".to_owned(), vec![0.000_325; 2]), ("translator".to_owned(), vec![0.000_18])]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_inline_run_has_the_same_cost() -> anyhow::Result<()> {
    let runner = InlineRunner::new(priced(Resources::from(model())));
    assert_eq!(of(&runner.run(&desk(), "A lamp.").await?.usage), whole());
    let without = InlineRunner::new(model()).run(&desk(), "A lamp.").await?.usage;
    assert_eq!(of(&without), (Cost::default(), 0));
    let json = json!(without);
    assert!(json.get("cost").is_none() && json.get("unpriced_requests").is_none(), "{json}");
    Ok(())
}

/// An activity whose body is a session.
struct Desk(InlineRunner);

#[activities]
impl Desk {
    #[activity]
    async fn ask(self: Arc<Self>, ctx: ActivityContext, question: String) -> Result<Value, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            let result = session.runner(&self.0).run(&desk(), question).await?;
            Ok(json!(result.usage))
        })
        .await
    }
}

#[tokio::test]
async fn a_session_has_the_same_cost_also_where_it_continues_from_a_checkpoint() -> anyhow::Result<()> {
    let env =
        SessionEnvironment::new().register_activities(|| Desk(InlineRunner::new(priced(Resources::from(model())))));
    let first = env.attempt().run(Desk::ask, "A lamp.".to_owned()).await;
    let usage: Usage = serde_json::from_value(first.result?)?;
    assert_eq!(of(&usage), whole());
    for checkpoint in &first.checkpoints {
        let next = env.attempt_from(checkpoint)?.run(Desk::ask, "A lamp.".to_owned()).await;
        let usage: Usage = serde_json::from_value(next.result?)?;
        assert_eq!(of(&usage), whole());
    }
    Ok(())
}
