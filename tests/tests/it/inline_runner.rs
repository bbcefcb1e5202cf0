//! The same agents and the same script, inline and durable: the same result.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Resources, RunError,
    inline::InlineRunner,
    wire::{Item, ModelFailureKind},
};
use temporal_agents_testing::{
    AgentEnvironment,
    fake_model::{FakeModel, failure, handoff, structured, text, tool_call, tool_calls},
};

use crate::support::{Clerk, Report, Stock, Warehouse, clerk, triage};

fn runner(model: &FakeModel) -> InlineRunner {
    InlineRunner::new(Resources::new().model_provider(model.clone()).state(Stock(3)))
        .first_pause(Duration::from_millis(1))
}

fn inputs(model: &FakeModel) -> Vec<Vec<Item>> {
    model.calls().into_iter().map(|call| call.input).collect()
}

#[tokio::test]
async fn a_handoff_with_parallel_tools_is_the_same_on_both_hosts() -> anyhow::Result<()> {
    let report = Report { summary: "there are 7".to_owned(), pieces: 7 };
    let script = || {
        FakeModel::script([
            handoff("clerk"),
            tool_calls([
                ("stock_of", json!({"product": "bolt"})),
                ("add", json!({"a": 3, "b": 4})),
                ("stock_of", json!({"product": "nothing"})),
            ]),
            structured(&report),
        ])
    };
    let (inline, durable) = (script(), script());
    let result = runner(&inline).run(&triage(), "How many?").await?;
    assert_eq!(result.final_output, report);
    assert_eq!((result.last_agent.as_str(), result.turns, result.usage.requests), ("clerk", 3, 3));
    inline.verify();

    let builder = AgentEnvironment::builder().workflow::<Warehouse>()?.model(&durable);
    let env = builder.state(Stock(3)).agents((triage,)).start().await?;
    assert_eq!(env.run(Warehouse::run, "How many?".to_owned()).await?.output()?, report);
    env.finish().await?;
    assert_eq!(inputs(&inline), inputs(&durable), "both models were asked the same");
    Ok(())
}

#[tokio::test]
async fn what_tools_fail_with_is_the_same_on_both_hosts() -> anyhow::Result<()> {
    let script = || {
        FakeModel::script([
            tool_calls([
                ("stock_of", json!({"product": "nothing"})),
                ("stock_of", json!({"product": "broken"})),
                ("stock_of", json!({"product": "flaky"})),
                ("stock_of", json!({"product": "panic"})),
                ("stock_of", json!("{not json")),
            ]),
            text("sorry"),
        ])
    };
    let (inline, durable) = (script(), script());
    assert_eq!(runner(&inline).run(&clerk(), "How many?").await?.final_output, "sorry");

    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.model(&durable);
    let env = builder.state(Stock(3)).agents((clerk,)).start().await?;
    assert_eq!(env.run(Clerk::run, "How many?".to_owned()).await?.output()?, "sorry");
    env.finish().await?;
    assert_eq!(inputs(&inline), inputs(&durable), "both models were told the same");
    Ok(())
}

#[tokio::test]
async fn a_failed_run_says_why_and_where_it_stood() {
    let model = FakeModel::function(|_, _| tool_call("add", json!({"a": 1, "b": 2})));
    let failure = runner(&model).max_turns(2).run(&clerk(), "hi").await.unwrap_err();
    assert!(matches!(failure.error, RunError::MaxTurnsExceeded { max_turns: 2, .. }), "{failure}");
    let state = failure.state.expect("the run had begun");
    assert_eq!((state.turn, state.items.len()), (2, 4));
}

#[tokio::test]
async fn a_model_call_that_may_succeed_later_is_tried_again() -> anyhow::Result<()> {
    let busy = || failure(ModelFailureKind::RateLimit, "busy").retry_after(Duration::from_millis(5));
    let model = FakeModel::script([busy(), busy(), text("at last")]);
    assert_eq!(runner(&model).run(&clerk(), "hi").await?.final_output, "at last");
    model.verify();

    let hopeless = FakeModel::script([failure(ModelFailureKind::Authentication, "no key")]);
    let failure = runner(&hopeless).run(&clerk(), "hi").await.unwrap_err();
    let words = "the model call of agent \"clerk\" at turn 1 (model \"gpt-5\") failed: no key";
    assert_eq!(failure.to_string(), words);
    hopeless.verify();
    Ok(())
}

#[tokio::test]
async fn the_future_of_a_run_is_send_and_dropping_it_cancels_the_run() {
    let model = FakeModel::function(|_, _| text("late").delayed(Duration::from_hours(1)));
    let runner = runner(&model);
    let asked = model.clone();
    let task = tokio::spawn(async move { runner.run(&clerk(), "hi").await });
    while asked.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    // The runtime of this test ends only when the run's thread has ended; one that went on for an hour would hang here.
}
