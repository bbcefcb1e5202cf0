//! The page "What may change while runs are open": each of its rows replays a recorded history against a changed build.

mod changes;
mod shop;

use std::path::PathBuf;

use serde_json::json;
use temporal_agents::client::AgentHandle;
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, ReplayCheck,
    fake_model::{Reply, text, tool_call},
    history::{self, History},
};

use self::shop::{Build, Shop, boss, careful, clerk, guarded, triage};
use crate::agent_handlers::support::state_when_waiting;

const PAGE: &str = include_str!("../../../sdk/src/guide/deploying.md");

/// A row of the page.
#[derive(Debug)]
struct Row {
    change: String,
    replays: bool,
    explanation: String,
}

/// The rows of the tables with an explanation.
fn rows() -> Vec<Row> {
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = PAGE.lines().filter(|line| line.starts_with('|')).map(cells);
    rows.filter_map(|cells| match cells.as_slice() {
        [change, replays, ..] if replays == "yes" => {
            Some(Row { change: change.clone(), replays: true, explanation: String::new() })
        }
        [change, replays, explanation, _cure] if replays == "no" => {
            let explanation = explanation.trim_matches('`').trim().to_owned();
            Some(Row { change: change.clone(), replays: false, explanation })
        }
        _ => None,
    })
    .collect()
}

/// A history of a build, recorded where it is not there yet.
async fn recorded(name: &str) -> anyhow::Result<History> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1").join(format!("shop_{name}.json"));
    if !path.exists() {
        anyhow::ensure!(std::env::var_os("UPDATE_GOLDEN").is_some(), "{} is not recorded", path.display());
        history::save(&path, &record(name).await?)?;
    }
    Ok(history::load(path)?)
}

fn sold() -> Reply {
    text(json!({"text": "sold"}).to_string())
}

fn order_call() -> Reply {
    tool_call("order", json!({"item": "lamp"}))
}

async fn record(name: &str) -> anyhow::Result<History> {
    let (build, script) = match name {
        "sale" => (Build::of(triage), vec![tool_call("transfer_to_desk", json!({})), order_call(), sold()]),
        "approval" => (Build::of(careful), vec![order_call(), sold()]),
        "inline" => (Build::of(clerk), vec![tool_call("price", json!({"item": "lamp"})), text("7")]),
        "guarded" => (Build::of(guarded), vec![text("hello")]),
        _ => {
            (Build::of(boss), vec![tool_call("ask_clerk", json!({"input": "a lamp?"})), text("7"), text("It costs 7.")])
        }
    };
    let model = FakeModel::script(script);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<Shop, _>(Shop::factory(build))?
        .model(&model)
        .agents((triage, clerk, guarded, boss))
        .start()
        .await?;
    let started = env.start_workflow(Shop::run, "A lamp, please.".to_owned()).await?;
    if name == "approval" {
        let handle = AgentHandle::new(env.client(), &*started.info().workflow_id);
        state_when_waiting(&handle).await?;
        handle.approve("call_0_0").await?;
    }
    let run = env.await_run(&started).await?;
    run.result?;
    env.finish().await?;
    Ok(run.history)
}

#[tokio::test]
async fn every_row_of_the_page_says_what_a_replay_says() -> anyhow::Result<()> {
    let rows = rows();
    assert!(rows.len() > 40, "{rows:?}");
    let mut wrong = Vec::new();
    for Row { change, replays, explanation } in rows {
        let Some((name, build)) = changes::of(&change) else {
            wrong.push(format!("{change}: no build"));
            continue;
        };
        let history = recorded(name).await?;
        let check = ReplayCheck::new().workflow_with_factory::<Shop, _>(Shop::factory(build))?;
        let found = check.replay(&history).await;
        match (&found, replays) {
            (Ok(()), true) => {}
            (Err(error), false) if error.change().is_some_and(|change| change.to_string() == explanation) => {
                // What the SDK says comes after it.
                assert!(
                    error.to_string().starts_with(&explanation) && error.to_string().len() > explanation.len() + 20
                );
            }
            _ => wrong
                .push(format!("{change}: {}", found.map_or_else(|error| error.to_string(), |()| "replays".to_owned()))),
        }
        if let (Err(error), false) = (check.replay_without_cache(&history).await, replays)
            && error.change().is_none_or(|change| change.to_string() != explanation)
        {
            wrong.push(format!("{change}, without a cache: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    Ok(())
}

#[tokio::test]
async fn the_recorded_histories_replay_with_the_builds_that_made_them() -> anyhow::Result<()> {
    let builds = [
        ("sale", Build::of(triage)),
        ("approval", Build::of(careful)),
        ("inline", Build::of(clerk)),
        ("guarded", Build::of(guarded)),
        ("agent_tool", Build::of(boss)),
    ];
    for (name, build) in builds {
        let check = ReplayCheck::new().workflow_with_factory::<Shop, _>(Shop::factory(build))?;
        let history = recorded(name).await?;
        check.replay(&history).await?;
        check.replay_without_cache(&history).await?;
    }
    Ok(())
}
