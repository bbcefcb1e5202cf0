//! Agents inside one activity: what they come to, what another attempt goes on from, and what it does not do again.

pub(crate) mod approvals;
pub(crate) mod asked;
mod cancelled;
mod crash;
mod deployed;
pub(crate) mod desk;
mod gated;
mod handed_over;
mod impostor;
mod kept;
mod large;
pub(crate) mod mishap;
mod stopped;
mod stored;
mod stored_questions;
mod without_a_server;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    agentic_session::{AgenticSession, AgenticSessionError, SessionResults},
    inline::InlineRunner,
    tool,
    tool::{State, ToolContext, ToolError},
};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call, tool_calls};

use self::{
    desk::{Desk, Office, Order},
    mishap::broken,
};

/// How often each tool has run, seen from outside.
#[derive(Clone, Default)]
struct Runs(Arc<AtomicU32>);

/// Looks at a file.
///
/// # Arguments
/// * `path` - the file
#[tool]
async fn inspect(
    State(runs): State<Runs>,
    State(results): State<SessionResults>,
    ctx: &ToolContext,
    path: String,
) -> Result<String, ToolError> {
    runs.0.fetch_add(1, Ordering::SeqCst);
    assert!(!ctx.info().idempotency_key().is_empty());
    results.push(json!({"finding": path}))?;
    Ok(format!("{path} is fine"))
}

fn reviewer() -> Agent {
    Agent::new("reviewer").model("gpt-5").instructions("You review.").tool(inspect)
}

fn runner(model: &FakeModel, runs: &Runs) -> InlineRunner {
    InlineRunner::new(Resources::new().model_provider(model.clone()).state(runs.clone()))
        .first_pause(Duration::from_millis(1))
}

#[tokio::test]
async fn an_agent_runs_in_one_activity_and_its_tools_gather_results() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("inspect", json!({"path": "a.rs"})), ("inspect", json!({"path": "b.rs"}))]),
        text("all fine"),
    ]);
    let runs = Runs::default();
    let inline = runner(&model, &runs);
    let desk = Desk::new(move |ctx, input: Value| {
        let inline = inline.clone();
        async move {
            AgenticSession::run(&ctx, async |session| {
                let question = input.as_str().unwrap_or_default().to_owned();
                let said = session.runner(&inline).run(&reviewer(), question).await?.final_output;
                session.push(json!({"said": said}))?;
                Ok(Value::from(session.results::<Value>()?))
            })
            .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new("Review it.")).await?;
    assert_eq!(run.activities().len(), 1);
    let expected = json!([{"finding": "a.rs"}, {"finding": "b.rs"}, {"said": "all fine"}]);
    assert_eq!(run.output()?, expected);
    assert_eq!((model.calls().len(), runs.0.load(Ordering::SeqCst)), (2, 2));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn another_attempt_goes_on_after_the_runs_that_have_ended() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("inspect", json!({"path": "a.rs"})),
        text("first"),
        tool_call("inspect", json!({"path": "b.rs"})),
        text("second"),
    ]);
    let runs = Runs::default();
    let inline = runner(&model, &runs);
    let desk = Desk::new(move |ctx, _| {
        let inline = inline.clone();
        async move {
            let attempt = ctx.info().attempt;
            AgenticSession::run(&ctx, async |session| {
                assert_eq!(session.is_resumed(), attempt > 1);
                let first = session.runner(&inline).run(&reviewer(), "First.").await?.final_output;
                session.push(&first)?;
                if attempt == 1 {
                    return Err(AgenticSessionError::activity(broken("the network is down")));
                }
                let second = session.runner(&inline).run(&reviewer(), "Second.").await?.final_output;
                Ok(json!({"said": [first, second], "results": session.results::<Value>()?}))
            })
            .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    let results = json!([{"finding": "a.rs"}, "first", {"finding": "b.rs"}]);
    assert_eq!(run.output()?, json!({"said": ["first", "second"], "results": results}));
    assert_eq!((model.calls().len(), runs.0.load(Ordering::SeqCst)), (4, 2));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_heartbeat_that_is_no_checkpoint_begins_the_session_anew() -> anyhow::Result<()> {
    let model = FakeModel::script([text("done")]);
    let inline = runner(&model, &Runs::default());
    let desk = Desk::new(move |ctx, _| {
        let inline = inline.clone();
        async move {
            if ctx.info().attempt == 1 {
                ctx.record_heartbeat("no checkpoint".to_owned()).await?;
                return Err(broken("after the heartbeat"));
            }
            AgenticSession::run(&ctx, async |session| {
                assert!(!session.is_resumed());
                Ok(session.runner(&inline).run(&reviewer(), "Go.").await?.final_output.into())
            })
            .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    Ok(())
}
