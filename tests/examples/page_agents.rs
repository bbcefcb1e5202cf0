//! Agents for the test of the page in a browser (`tests/browser`): hostile texts and names,
//! retries, failures, and runs with many events.
//!
//! Serves them on 127.0.0.1, with a worker, and prints `READY http://127.0.0.1:PORT`. It needs a
//! Temporal server, and runs until it is killed: the test owns both processes.

use std::{net::Ipv4Addr, time::Duration};

use clap::Parser;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Handoff, Resources, RunConfig, Tool, ToolContext, ToolError,
    http::{AgentsService, BearerToken},
    store::SqlStore,
    tool,
    wire::{ItemView, ModelCall},
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{
    FakeModel, ServerAddress,
    fake_model::{Reply, failure, handoff, reasoning, text, tool_call, tool_calls},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};
use tokio::net::TcpListener;

/// Markup that would run, if the page took it for more than a text.
const MARKUP: &str = r#"<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>"#;
/// A name with markup, and with a character that reverses the text after it.
const ODD: &str = "odd <b onclick=alert(1)>one</b> \u{202e}eno";
const CALLS: usize = 400;
const TURNS: usize = 60;

#[derive(Debug, Parser)]
struct Options {
    #[arg(long)]
    address: ServerAddress,
    #[arg(long)]
    namespace: String,
    #[arg(long)]
    token: String,
}

/// Fails twice, and reports its progress in the attempt that succeeds.
#[tool(start_to_close = "20s")]
async fn shaky(ctx: &ToolContext) -> Result<String, ToolError> {
    if ctx.info().attempt < 3 {
        return Err(ToolError::transient(format!("the line is busy {MARKUP}")));
    }
    for step in 1..=4_u8 {
        ctx.progress(f64::from(step) / 5.0, format!("step {step} {MARKUP}"));
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    Ok(MARKUP.to_owned())
}

/// Deletes a file.
#[tool(start_to_close = "20s")]
async fn delete_file(path: String) -> String {
    format!("deleted {path}")
}

/// Counts.
#[tool(inline)]
fn count(number: usize) -> usize {
    number + 1
}

fn odd() -> Agent {
    let other = Agent::new("second").model("m").instructions("You continue.").handoff(Handoff::to(ODD));
    let agent = Agent::new(ODD).model(MARKUP).instructions("You are odd.");
    let helper = Agent::new("helper").model("m").instructions("You help.").as_tool().name("ask_helper");
    agent.tool(helper.description("Helps.")).tool(shaky).tool(delete_file.needs_approval()).tool(count).handoff(other)
}

/// Twelve agents: a reception, ten departments, and a translator.
fn reception() -> Agent {
    let translator = Agent::new("translator").model("m").instructions("You translate.").as_tool().name("translate");
    let translate = translator.description("Translates.");
    (1..=10).fold(Agent::new("reception").model("m").instructions("You receive."), |reception, number| {
        let department = Agent::new(format!("department {number}")).model("m").instructions("You work.");
        let department = if number % 2 == 0 { department.tool(count) } else { department.tool(translate.clone()) };
        reception.handoff(department.handoff(Handoff::to("reception")))
    })
}

fn reply(call: &ModelCall) -> Reply {
    let place = call.input.iter().rposition(|item| matches!(item.view(), ItemView::Message { role: "user", .. }));
    let message = place.and_then(|place| call.input[place].text()).unwrap_or_default();
    let answers = place.map_or(0, |place| {
        let after = &call.input[place..];
        after.iter().filter(|item| matches!(item.view(), ItemView::FunctionCallOutput { .. })).count()
    });
    match (&*message, answers) {
        _ if call.agent == "helper" => text("I have helped."),
        ("nested", 0) => tool_call("ask_helper", json!({"input": "help me"})),
        ("markup", _) => reasoning(MARKUP).and(text(MARKUP).chunk_size(7).chunk_pause(Duration::from_millis(20))),
        ("right to left", _) => text("\u{202e}שלום, this text changes its direction <b>here</b>"),
        ("long text", _) => text("x ".repeat(150_000)).chunk_size(20_000),
        ("retries", 0) => tool_call("shaky", json!({})),
        ("approval", 0) => tool_call("delete_file", json!({"path": format!("/tmp/{MARKUP}\u{202e}gpj.exe")})),
        ("handoffs", 0) if call.agent == ODD => handoff("second"),
        ("handoffs", 1) => handoff(ODD),
        ("many calls", 0) => tool_calls((0..CALLS).map(|number| ("count", json!({"number": number})))),
        ("many turns", answers) if answers + 1 < TURNS => match answers % 20 {
            7 => tool_call("ask_helper", json!({"input": "help me"})),
            12 => tool_call("shaky", json!({})),
            _ => tool_call("count", json!({"number": answers})),
        },
        ("failure", _) => failure(temporal_agents::wire::ModelFailureKind::BadRequest, MARKUP),
        _ => text("That is all."),
    }
}

fn worker_options(task_queue: &str, store: SqlStore) -> anyhow::Result<WorkerOptions> {
    let config = || RunConfig::builder().max_turns(100).keep_decisions(true).build();
    let agents = || AgentSet::new((odd, reception)).config(config()).last_agent_continues();
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    let resources = Resources::new().model_provider(FakeModel::function(|call, _| reply(call))).decision_store(store);
    let plugin = AgentsPlugin::new(resources).deltas(HeartbeatDeltas::new());
    plugin.agents((odd, reception)).install(&mut options)?;
    Ok(options)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Options { address, namespace, token } = Options::parse();
    let connection = ConnectionOptions::new(address.url().clone()).identity("page-agents").build();
    let client = Client::new(Connection::connect(connection).await?, ClientOptions::new(namespace).build())?;
    let task_queue = "page-agents";
    let directory = tempfile::tempdir()?;
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("decisions.db").display())).await?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client.clone(), worker_options(task_queue, store.clone())?)?;
    let service = AgentsService::new(&client, task_queue).agents((odd, reception)).decision_store(store);
    let service = service.access(BearerToken::new(&token, "tester"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("READY http://{}", listener.local_addr()?);
    tokio::select! {
        ended = worker.run() => ended?,
        ended = axum::serve(listener, service.into_router()) => ended?,
    }
    Ok(())
}
