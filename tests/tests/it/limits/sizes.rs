//! What is larger than the server takes: the run fails and says what it is, or sends it in parts; no workflow task fails.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool, ToolContext, ToolDef,
    agent::GuardrailOutput,
    guardrail,
    run::{RunInput, SessionRef},
    tool,
};
use temporal_agents_testing::{
    FakeModel, FinishedRun,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{
    examples::{Cache, histories},
    stored_sessions::Flaky,
};

#[guardrail(input, activity, blocking)]
async fn looks(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

/// Reads a book aloud.
#[tool]
async fn read_book() -> String {
    "word ".repeat(240_000)
}

/// Counts what there is in the run context.
#[tool(name = "count")]
async fn count_all(call: &ToolContext) -> String {
    call.run().values().len().to_string()
}

fn count() -> ToolDef {
    count_all.definition().with_context(["book"])
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").tool(read_book).tool(count())
}

fn guarded() -> Agent {
    reader().input_guardrail(looks)
}

/// Reads with an input or a context of 2.25 MB, or a session.
#[workflow]
#[derive(Default)]
pub(crate) struct Large;

#[workflow_methods]
impl Large {
    #[run(name = "large")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, case: String) -> WorkflowResult<String> {
        let (runner, long) = (Runner::new(ctx), "long ".repeat(450_000));
        let with_session = || runner.clone().session(SessionRef::stored("shop", "customer 7"));
        let (runner, agent, input): (_, _, RunInput) = match &*case {
            "guardrail" => (runner, guarded(), long.into()),
            "tool" => (runner.context("book", long), reader(), "Count.".into()),
            "session" => (with_session(), reader(), "Read.".into()),
            _ => (with_session(), reader(), long.into()),
        };
        Ok(runner.run(&agent, input).await?.final_output)
    }
}

async fn run(case: &str, model: FakeModel, store: &Flaky, cache: Cache) -> anyhow::Result<FinishedRun<String>> {
    let builder = cache.environment::<Large>()?.model(&model).agents((reader, guarded));
    let env = builder.session_store("shop", store.clone()).start().await?;
    let run = env.run(Large::run, case.to_owned()).await?;
    histories::<Large>(&env, &run.workflow_id).await?;
    env.finish().await?;
    Ok(run)
}

fn activities(run: &FinishedRun<String>) -> Vec<String> {
    run.activities().into_iter().map(|activity| activity.activity_type).collect()
}

#[rstest]
#[case(
    "guardrail",
    &[],
    "input guardrail \"looks\" of agent \"reader\" failed: the input of the call (arguments and run context) is \
     2250062 bytes of JSON, the limit is 2000000"
)]
#[case(
    "tool",
    &["agents.call_model"],
    "the call of tool \"count\" by agent \"reader\" at turn 1 failed: its input is 2.25 MB, the limit is 2.00 MB: key \
     \"book\" of the run context alone is 2.25 MB; store large values outside of the run context, or remove this key \
     from the context keys of the tool"
)]
#[case(
    "item",
    &["agents.session.shop"],
    "the session \"customer 7\" could not be written: an item of the session is 2250028 bytes of JSON, the limit is \
     2000000"
)]
#[tokio::test]
async fn a_request_that_is_too_large_fails_the_run_and_is_named(
    #[case] case: &str,
    #[case] scheduled: &[&str],
    #[case] message: &str,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| tool_call("count", json!({})));
    let run = run(case, model, &Flaky::default(), cache).await?;
    assert_eq!(run.failure_chain()[0], ("AgentsWorkflowError".to_owned(), message.to_owned()));
    assert_eq!(activities(&run), scheduled);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_turn_that_is_too_large_for_one_write_is_written_in_parts(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (store, book) = (Flaky::default(), ("read_book", json!({})));
    let model = FakeModel::script([tool_calls([book.clone(), book]), text("It is long.")]);
    let run = run("session", model, &store, cache).await?;
    let (session, tool, model) = ("agents.session.shop", "agents.tool.read_book", "agents.call_model");
    // The model is given more than a payload may hold: the outputs are referred to.
    assert_eq!(activities(&run), [session, session, model, tool, tool, session, session, model, session]);
    let written: Vec<_> = store.asked().into_iter().filter(|asked| asked.starts_with("add")).collect();
    let add = |items: usize| format!("add {items} to customer 7");
    assert_eq!(written, [add(1), add(3), add(3), add(1), add(1)], "the answer to the second write is lost");
    assert_eq!(run.output()?, "It is long.");
    Ok(())
}
