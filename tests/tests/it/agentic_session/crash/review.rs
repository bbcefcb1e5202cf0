//! A review in four turns, which notes what it begins and holds still where a test wants it to. And one without end, turn by turn.

use std::{future::pending, num::NonZero, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Tool,
    agent::Instructions,
    agentic_session::{AgenticSession, AgenticSessionOptions, Heartbeats, SessionResults, WorkflowApprover},
    inline::InlineRunner,
    tool,
    tool::{State, ToolContext, ToolError},
    wire::ModelCall,
};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call, tool_calls};

use super::{
    super::desk::Desk,
    ledger::{Begun, Ledger},
};

/// For ever, as far as a test is concerned.
const FOR_EVER: Duration = Duration::from_mins(10);

/// What a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    /// The review, up to here, with a checkpoint before every so many turns.
    Review { hold: Hold, every: NonZero<u32> },
    /// One inspection after another, each model call of which takes so long.
    Endless { pace: Duration, throttled: bool },
}

/// Where a session holds still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    Nothing,
    BeforeTheFirstTurn,
    /// The model does not answer in turn 2.
    ModelCall,
    /// Both inspections of turn 1 have begun.
    BothTools,
    /// One of them has ended.
    SecondTool,
    /// It is being published.
    Publishing,
    /// The tools of turn 1 have ended, and turn 2 makes up its instructions.
    AfterTheTools,
}

/// An attempt at it.
#[derive(Clone)]
struct Attempt {
    ledger: Ledger,
    number: u32,
    work: Work,
}

impl Attempt {
    fn begins(&self, turn: u32, what: &str, key: Option<&str>) {
        let (what, key) = (what.to_owned(), key.map(str::to_owned));
        let begun = Begun { attempt: self.number, turn, what, key };
        self.ledger.note(&begun).expect("the ledger is writable");
    }

    fn holds_at(&self, holds: &[Hold]) -> bool {
        matches!(self.work, Work::Review { hold, .. } if holds.contains(&hold))
    }

    async fn tool(&self, ctx: &ToolContext, what: &str, holds: &[Hold]) {
        self.begins(ctx.info().turn, what, Some(ctx.info().idempotency_key()));
        if self.holds_at(holds) {
            pending::<()>().await;
        }
    }

    fn model(&self) -> FakeModel {
        let attempt = self.clone();
        FakeModel::function(move |call, _| {
            attempt.begins(call.turn, "model", None);
            let holds = call.turn == 2 && attempt.holds_at(&[Hold::ModelCall]);
            match attempt.work {
                Work::Review { .. } => review(call).delayed(if holds { FOR_EVER } else { Duration::ZERO }),
                Work::Endless { pace, .. } => inspection(&format!("{}.rs", call.turn)).delayed(pace),
            }
        })
    }

    fn reviewer(&self) -> Agent {
        let attempt = self.clone();
        let instructions = Instructions::computed(move |_, agent| {
            if agent.turn == 2 && attempt.holds_at(&[Hold::AfterTheTools]) {
                attempt.begins(2, "instructions", None);
                std::thread::sleep(FOR_EVER);
            }
            "You review.".to_owned()
        });
        let reviewer = Agent::new("reviewer").model("gpt-5").instructions(instructions);
        reviewer.tool(inspect).tool(publish).tool(merge.needs_approval())
    }

    fn options(&self) -> AgenticSessionOptions {
        let options = AgenticSession::options().approver(WorkflowApprover::new().task_queue("agents"));
        match self.work {
            Work::Review { every, .. } => options.checkpoint_every(every),
            Work::Endless { throttled: true, .. } => options.heartbeats(Heartbeats::Throttled),
            Work::Endless { .. } => options,
        }
    }
}

/// Looks at a file.
///
/// # Arguments
/// * `path` - the file
#[tool]
async fn inspect(
    State(attempt): State<Attempt>,
    State(results): State<SessionResults>,
    ctx: &ToolContext,
    path: String,
) -> Result<String, ToolError> {
    let holds: &[Hold] = match &*path {
        "b.rs" => &[Hold::BothTools, Hold::SecondTool],
        _ => &[Hold::BothTools],
    };
    attempt.tool(ctx, &format!("inspect {path}"), holds).await;
    results.push(&path)?;
    Ok(format!("{path} is fine"))
}

/// Publishes the review, which must not happen twice.
#[tool(idempotent = false)]
async fn publish(State(attempt): State<Attempt>, ctx: &ToolContext) -> Result<String, ToolError> {
    attempt.tool(ctx, "publish", &[Hold::Publishing]).await;
    Ok("published".to_owned())
}

/// Merges the change.
#[tool]
async fn merge(State(attempt): State<Attempt>, ctx: &ToolContext) -> Result<String, ToolError> {
    attempt.tool(ctx, "merge", &[]).await;
    Ok("merged".to_owned())
}

fn inspection(path: &str) -> Reply {
    tool_call("inspect", json!({"path": path}))
}

fn review(call: &ModelCall) -> Reply {
    match call.turn {
        1 => tool_calls([("inspect", json!({"path": "a.rs"})), ("inspect", json!({"path": "b.rs"}))]),
        2 => tool_call("publish", json!({})),
        3 => tool_call("merge", json!({})),
        _ => {
            let outputs = call.input.iter().filter_map(|item| item.get("output").and_then(Value::as_str));
            text(outputs.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The desk at which the work is done.
pub(super) fn desk(ledger: &Ledger, work: Work) -> Desk {
    let ledger = ledger.clone();
    Desk::new(move |ctx, _| {
        let attempt = Attempt { ledger: ledger.clone(), number: ctx.info().attempt, work };
        async move {
            let inline = InlineRunner::new(Resources::new().model_provider(attempt.model()).state(attempt.clone()))
                .max_turns(1_000);
            let body = async |session: AgenticSession| {
                attempt.begins(0, if session.is_resumed() { "goes on" } else { "begins anew" }, None);
                if attempt.holds_at(&[Hold::BeforeTheFirstTurn]) {
                    pending::<()>().await;
                }
                let said = session.runner(&inline).run(&attempt.reviewer(), "Review it.").await?.final_output;
                Ok(json!({"said": said, "findings": session.results::<Value>()?}))
            };
            attempt.options().run(&ctx, body).await
        }
    })
}
