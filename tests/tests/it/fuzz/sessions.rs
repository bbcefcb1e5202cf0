//! Checkpoints of agentic sessions, changed: an attempt goes on from each, begins anew, or fails.

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::agentic_session::AgenticSession;
use temporal_agents_testing::{SessionEnvironment, session_environment::AttemptError};
use tokio::{runtime::Runtime, time::timeout};

use super::{
    cases::check,
    documents::{documents, golden_messages},
    states::{desk, runner},
};
use crate::agentic_session::desk::Desk;

const CASES: u32 = 100;
/// An attempt that takes longer hangs: nothing in it waits.
const PATIENCE: Duration = Duration::from_mins(1);

/// Checkpoints as the code of the proposal writes them.
fn proposals() -> Vec<(String, Value)> {
    let chat = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    ]);
    let blocks = json!([
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}, {"type": "thinking", "thinking": "hm"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3"}], "is_error": true}]},
    ]);
    let chat = json!({"version": 1, "messages": chat, "results": ["a"]});
    let text = Value::String(chat.to_string());
    let blocks = json!({"version": 1, "messages": blocks, "issues": [{"file": "a.rs"}]});
    vec![("chat".to_owned(), chat), ("text".to_owned(), text), ("blocks".to_owned(), blocks)]
}

/// An activity whose session decides nothing: a run that pauses is a result.
fn environment() -> SessionEnvironment {
    let desk = Desk::new(|ctx, _| async move {
        AgenticSession::run(&ctx, async |session| {
            let outcome = session.runner(&runner()).run(&desk(), "hi").until_paused().untyped().await?;
            Ok(json!(format!("{outcome:?}").len()))
        })
        .await
    });
    SessionEnvironment::new().register_activities(move || desk.clone())
}

#[test]
fn an_attempt_ends_whatever_checkpoint_it_finds() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let env = environment();
    let first = runtime.block_on(env.attempt().run(Desk::work, Value::Null));
    let mut checkpoints: Vec<(String, Value)> = proposals();
    for checkpoint in &first.checkpoints {
        checkpoints.push(("own".to_owned(), serde_json::to_value(checkpoint)?));
    }
    first.result?;
    anyhow::ensure!(checkpoints.len() > 5, "the session writes checkpoints");
    let is_checkpoint = |name: &str| name.starts_with("session_checkpoint") || name.starts_with("kept_checkpoint");
    checkpoints.extend(golden_messages().into_iter().filter(|(name, _)| is_checkpoint(name)));
    check(CASES, &documents(checkpoints), |document| {
        let details = document.json().unwrap_or_else(|| String::from_utf8_lossy(&document.text).into());
        let attempt = env.attempt_from(&details)?;
        let ended = runtime.block_on(async { timeout(PATIENCE, attempt.run(Desk::work, Value::Null)).await });
        match ended.map_err(|_| anyhow::anyhow!("the attempt hangs"))?.result {
            Ok(_) | Err(AttemptError::Failed(_)) => Ok(()),
            Err(other) => anyhow::bail!("{other}"),
        }
    })
}
