//! What becomes of a tool that is told to stop, because the session is cut off around it.

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
    agentic_session::{AgenticSession, AgenticSessionError},
    inline::InlineRunner,
    tool,
    tool::{State, ToolContext, ToolError},
    wire::ItemView,
};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};
use tokio::sync::Notify;

use super::{
    broken,
    desk::{Desk, Office, Order},
};

/// A tool at work, as the test sees it.
#[derive(Clone, Default)]
struct Work(Arc<Shared>);

#[derive(Default)]
struct Shared {
    begun: AtomicU32,
    is_at_work: Notify,
    has_stopped: Notify,
}

/// Does the work, unless it is told to stop.
#[tool]
async fn work(State(seen): State<Work>, ctx: &ToolContext) -> Result<String, ToolError> {
    if seen.0.begun.fetch_add(1, Ordering::SeqCst) > 0 {
        return Ok("done".to_owned());
    }
    seen.0.is_at_work.notify_one();
    // Without letting go of its thread: so it has ended by the time anybody looks whether it was cancelled.
    while !ctx.is_cancelled() {
        std::thread::sleep(Duration::from_millis(1));
    }
    seen.0.has_stopped.notify_one();
    Err(ToolError::failed("I was told to stop."))
}

#[tokio::test]
async fn a_tool_that_stops_with_an_error_because_the_session_is_cut_off_runs_again() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("work", json!({})), text("all done")]);
    let shared = Work::default();
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(shared.clone()));
    let at_work = shared.clone();
    let desk = Desk::new(move |ctx, _| {
        let (inline, seen, attempt) = (inline.clone(), at_work.clone(), ctx.info().attempt);
        async move {
            AgenticSession::run(&ctx, async |session| {
                let worker = Agent::new("worker").model("gpt-5").tool(work);
                let runner = session.runner(&inline);
                let running = runner.run(&worker, "Go.");
                if attempt > 1 {
                    return Ok(Value::from(running.await?.final_output));
                }
                tokio::select! {
                    ended = running => Ok(ended?.final_output.into()),
                    () = seen.0.is_at_work.notified() => {
                        // The run is dropped by now, which cancels it.
                        seen.0.has_stopped.notified().await;
                        Err(AgenticSessionError::activity(broken("the attempt ends")))
                    }
                }
            })
            .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("all done"));
    let calls = model.calls();
    let told = calls[1].input.iter().filter_map(|item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => Some(output.clone()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["done"]);
    assert_eq!((calls.len(), shared.0.begun.load(Ordering::SeqCst)), (2, 2));
    env.finish().await?;
    Ok(())
}
