//! Clients that others wrote (`tests/clients/shop.test.mjs`) against agents of these tests and two replicas of the service.
//!
//! `tests/clients/run.sh` installs the clients, and runs this with their directory in `CLIENTS_DIR`; without it there is
//! nothing to run.

use std::{net::SocketAddr, time::Duration};

use serde_json::json;
use temporal_agents::{
    Agent, Handoff, Tool,
    http::{AgentsService, BearerToken},
    tool,
    tool::ToolDef,
    wire::{Item, ItemView, ModelCall},
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, handoff, text, tool_call},
    skip,
};
use tokio::{net::TcpListener, process::Command};

/// Price of a book.
#[tool(start_to_close = "20s")]
async fn price_of(title: String) -> String {
    format!("{title} costs 12 euros")
}

/// Orders a book.
#[tool(start_to_close = "20s")]
async fn order_book(title: String) -> String {
    format!("{title} is on its way")
}

fn clerk() -> Agent {
    Agent::new("seller").model("scripted").tool(order_book.needs_approval())
}

fn shelf() -> Agent {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let look = ToolDef::client("look_at_shelf", "Looks at the shelf before the customer.", schema);
    Agent::new("shelf").model("scripted").tool(look)
}

fn shop() -> Agent {
    let returns = Agent::new("returns").model("scripted");
    Agent::new("shop").model("scripted").tool(price_of).handoff(Handoff::from(returns))
}

/// A message that streams for more than a second.
fn say(words: impl Into<String>) -> Reply {
    text(words).chunk_size(4).chunk_pause(Duration::from_millis(80))
}

fn reply(call: &ModelCall, _number: usize) -> Reply {
    let is_message = |item: &Item| matches!(item.view(), ItemView::Message { role: "user", .. });
    let place = call.input.iter().rposition(is_message).unwrap_or_default();
    let words = call.input[place].text().unwrap_or_default().to_lowercase();
    let output = call.input[place..].iter().rev().find_map(|item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => Some(output.as_str().map_or(output.to_string(), str::to_owned)),
        _ => None,
    });
    match (&*call.agent, output) {
        ("returns", _) => say("Bring the book back within a month, and you will have your money again."),
        (_, Some(output)) => say(format!("This is what I have found out for you: {output}.")),
        ("seller", None) => tool_call("order_book", json!({"title": "Momo"})),
        ("shelf", None) => tool_call("look_at_shelf", json!({})),
        (_, None) if words.contains("price") => tool_call("price_of", json!({"title": "Momo"})),
        (_, None) if words.contains("return") => handoff("returns"),
        (_, None) => {
            let greeting = say("Welcome to the book shop! We have some books about lighthouses, and many others.");
            if words.contains("break") { greeting.breaking_after(5) } else { greeting }
        }
    }
}

/// A replica of the service, on a port of its own.
async fn replica(env: &AgentEnvironment) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((shop, clerk, shelf));
    let service = service.access(BearerToken::new("a token", "ann"));
    tokio::spawn(service.serve(listener, std::future::pending()));
    Ok(address)
}

#[tokio::test]
async fn clients_of_others_talk_to_other_agents_through_two_replicas() -> anyhow::Result<()> {
    let Some(clients) = std::env::var_os("CLIENTS_DIR") else {
        skip("it needs CLIENTS_DIR, which tests/clients/run.sh sets");
        return Ok(());
    };
    let set = || AgentSet::new((shop, clerk, shelf));
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(FakeModel::function(reply))
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .agents((shop, clerk, shelf))
        .start()
        .await?;
    let ended = Command::new("node")
        .args(["--test", "shop.test.mjs"])
        .current_dir(clients)
        .env("SERVICE_URL", format!("http://{}", replica(&env).await?))
        .env("REPLICA_URL", format!("http://{}", replica(&env).await?))
        .env("TOKEN", "a token")
        .status()
        .await?;
    assert!(ended.success(), "{ended}");
    env.finish().await?;
    Ok(())
}
