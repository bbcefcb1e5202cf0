//! A recorded history for each kind of effect and handler that the examples do not use.
//!
//! The agents run in the ready-made [`AgentWorkflow`]. Kinds that need a workflow of their own stand in the table of
//! `golden_history.rs`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, ModelActivityOptions, RunConfig, Runner, Tool, ToolContext, ToolDef,
    agent::{ChildAgent, GuardrailOutput},
    client::{AgentHandle, AgentRuns, NewRun},
    guardrail,
    remote::{
        gateway::{Gateway, Toolset},
        transport::MemoryTransport,
    },
    run::{RunOutcome, SessionRef},
    store::{Session, SqlStore},
    tool,
    tool::{
        BoxError, McpServer, McpSessionOptions, McpSessionRecovery, NeedsApproval, ToolError, ToolGuardrailOutput,
        ToolInputGuardrail, ToolOutputGuardrail,
    },
    wire::{AgentDecision, AgentRequest, AgentState, Bounds, Decision, Item, ServerData},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, DevServerOptions, FakeModel, ReplayCheck,
    environment::AgentEnvironmentBuilder,
    fake_model::{text, tool_call, tool_calls},
    history::{self, History},
};
use temporalio_client::WorkflowCancelOptions;
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::replays;
use crate::{
    PATIENCE,
    agent_handlers::support::{state_when, state_when_waiting},
    databases::Kind,
    examples::{Cache, Played, executions_of},
    mcp::{
        answering::{Answer, AnsweringServer, Asked, tools},
        python::stdio,
    },
    remote::support::{Gates, provider},
};

/// Checks that the recorded histories of the kind replay with these agents, and records them if they are missing.
async fn check(
    kind: &str,
    set: fn() -> AgentSet,
    play: impl AsyncFnOnce(AgentEnvironmentBuilder) -> anyhow::Result<Vec<History>>,
) -> anyhow::Result<()> {
    let check = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?;
    replays(kind, check, async || {
        let builder = AgentEnvironment::builder()
            .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
            .agents(&set());
        play(builder).await
    })
    .await
}

/// Runs the agent while `meanwhile` happens, and returns the histories of all executions and of child workflows.
async fn run(
    env: &AgentEnvironment,
    agent: &str,
    meanwhile: impl AsyncFnOnce(&AgentHandle) -> anyhow::Result<()>,
) -> anyhow::Result<Vec<History>> {
    let mut request = AgentRequest::new(agent, "Work.");
    request.user = Some("ann".to_owned());
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    meanwhile(&env.agent_handle(&started).by("ann")).await?;
    let run = env.await_run(&started).await?;
    let mut histories = executions_of(env.client(), &run.workflow_id).await?;
    for child in histories.iter().flat_map(children).collect::<Vec<_>>() {
        histories.push(history::fetch(env.client(), &child, None).await?);
    }
    run.output()?;
    Ok(histories)
}

/// Runs the agent, and does nothing meanwhile.
async fn run_alone(builder: AgentEnvironmentBuilder, agent: &str) -> anyhow::Result<Vec<History>> {
    let env = builder.start().await?;
    let histories = run(&env, agent, async |_| Ok(())).await?;
    env.finish().await?;
    Ok(histories)
}

fn children(history: &History) -> Vec<String> {
    let child = |attributes: &Attributes| match attributes {
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child) => Some(child.workflow_id.clone()),
        _ => None,
    };
    history.events.iter().filter_map(|event| child(event.attributes.as_ref()?)).collect()
}

fn continues_often() -> ContinueOptions {
    ContinueOptions::builder().new_events(0).build()
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Payment {
    amount: u32,
}

/// Pays, if a person approves it.
fn pay() -> ToolDef {
    ToolDef::inline("pay", "Pays.", |_ctx, Payment { amount }| Ok(format!("paid {amount}").into()))
        .approval(NeedsApproval::Always)
}

fn paying() -> FakeModel {
    FakeModel::script([tool_call("pay", json!({"amount": 7})), text("done")])
}

fn smith(server: McpServer) -> Agent {
    Agent::new("smith").model("gpt-5").mcp_server(server)
}

#[tokio::test]
async fn mcp_list_and_call() -> anyhow::Result<()> {
    let set = || AgentSet::new((|| smith(McpServer::named("workshop")),));
    let model = FakeModel::script([tool_call("add", json!({"a": 3, "b": 4})), text("done")]);
    check("mcp_list_and_call", set, async |builder| {
        run_alone(builder.model(&model).mcp_server("workshop", stdio()), "smith").await
    })
    .await
}

/// The server asks people in the middle of a call, and the run continues as new while it waits.
#[tokio::test]
async fn mcp_session_with_a_question() -> anyhow::Result<()> {
    fn agent() -> Agent {
        let session = McpSessionOptions::new().set_up("login", json!({"user": "Ada", "password": "x"}));
        smith(McpServer::named("workshop").allow_elicitation().stateful(session))
    }
    let set = || AgentSet::new((agent,)).continue_when(continues_often());
    let model = FakeModel::script([tool_call("order", json!({"item": "chairs"})), text("done")]);
    check("mcp_session_with_a_question", set, async |builder| {
        let env = builder.model(&model).mcp_server("workshop", stdio()).agents_worker().start().await?;
        let histories = run(&env, "smith", async |handle| {
            state_when_waiting(handle).await?;
            handle.supply_output("call_0_0", json!({"quantity": 2})).await?;
            let is_second = |state: &AgentState| state.interruptions.iter().any(|call| call.id == "call_0_0#2");
            state_when(handle, "asking whether that is meant", is_second).await?;
            handle.supply_output("call_0_0#2", json!({"sure": true})).await?;
            Ok(())
        })
        .await?;
        env.finish().await?;
        Ok(histories)
    })
    .await
}

/// A server that forgets its first session when it is asked for its tools, and the second after a call.
#[derive(Default)]
struct Forgetful {
    opened: usize,
    known: Option<String>,
}

impl Forgetful {
    fn answer(&mut self, asked: &Asked) -> Answer {
        if asked.method == "initialize" {
            self.opened += 1;
            let session = format!("session-{}", self.opened);
            self.known = Some(session.clone());
            return Answer::Session(session);
        }
        if self.known.is_none() || self.known != asked.session {
            return Answer::Http(404, "no such session".to_owned());
        }
        match (&*asked.method, asked.params["name"].as_str()) {
            ("tools/list", _) if self.opened == 1 => {
                self.known = None;
                Answer::Http(404, "no such session".to_owned())
            }
            ("tools/list", _) => Answer::Result(json!({"tools": tools(["count", "login"])})),
            (_, Some("count")) => {
                self.known = None;
                Answer::Text("counted".to_owned())
            }
            _ => Answer::Text("hello".to_owned()),
        }
    }
}

#[tokio::test]
async fn mcp_session_that_is_lost() -> anyhow::Result<()> {
    fn agent() -> Agent {
        let session = McpSessionOptions::new().set_up("login", json!({"user": "Ada"}));
        smith(McpServer::named("workshop").stateful(session.reestablish(McpSessionRecovery::ReplaySetup)))
    }
    let count = || tool_call("count", json!({}));
    let model = FakeModel::script([count(), count(), text("done")]);
    check(
        "mcp_session_that_is_lost",
        || AgentSet::new((agent,)),
        async |builder| {
            let forgetful = Arc::new(Mutex::new(Forgetful::default()));
            let server = AnsweringServer::start(move |asked| {
                let answer = forgetful.lock().unwrap_or_else(PoisonError::into_inner).answer(&asked);
                async move { answer }
            })
            .await?;
            run_alone(builder.model(&model).mcp_server("workshop", server.transport()).agents_worker(), "smith").await
        },
    )
    .await
}

/// A run that is resumed with an agent that has got a server meanwhile.
#[workflow]
#[derive(Default)]
pub(crate) struct Restocked;

fn paying_smith() -> Agent {
    Agent::new("smith").model("gpt-5").tool(pay())
}

fn restocked_smith() -> Agent {
    paying_smith().mcp_server(McpServer::named("workshop"))
}

#[workflow_methods]
impl Restocked {
    #[run(name = "restocked")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let runner = Runner::new(ctx);
        let RunOutcome::Paused(paused) = runner.run(&paying_smith(), "Work.").until_paused().await? else {
            panic!("the call waits")
        };
        let mut state = paused.state;
        for call in state.interruptions() {
            state.decide(&call.id, Decision::approve()).expect("it waits");
        }
        Ok(runner.run(&restocked_smith(), state).await?.final_output)
    }
}

pub(super) async fn resumed_with_server(cache: Cache) -> anyhow::Result<Played<String>> {
    let builder = cache.environment::<Restocked>()?.mcp_server("workshop", stdio());
    let env = builder.model(&paying()).agents((restocked_smith,)).start().await?;
    let run = env.run(Restocked::run, ()).await?;
    let histories = vec![run.history.clone()];
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: Vec::new() })
}

/// The toolset is selected when the run starts, and found by a gateway.
#[tokio::test]
async fn remote_tool() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        let config = RunConfig::builder().toolsets(["demo"]).build();
        AgentSet::new((|| Agent::<String>::new("caller").model("gpt-5"),)).config(config)
    }
    let model = FakeModel::script([tool_call("echo", json!({"text": "hello"})), text("done")]);
    check("remote_tool", set, async |builder| {
        let streams = MemoryTransport::new();
        let provider = provider(&Gates::default(), streams.clone()).registered(Toolset::new("demo", "1.0.0"))?;
        let providing = tokio::spawn(async move { provider.serve(std::future::pending()).await });
        let gateway = Gateway::new(streams.clone()).ping_interval(Duration::from_millis(200));
        let of_task = gateway.clone();
        let serving = tokio::spawn(async move { of_task.serve(std::future::pending()).await });
        let healthy = async {
            while gateway.health("demo").is_err() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, healthy).await?;
        let builder = builder.resources(|all| all.tool_streams(streams).toolset_source(gateway.clone()));
        let histories = run_alone(builder.model(&model), "caller").await;
        providing.abort();
        serving.abort();
        histories
    })
    .await
}

/// The second run finds the decision that was kept in the first one.
#[tokio::test]
async fn kept_decision() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        let config = RunConfig::builder().keep_decisions(true).build();
        AgentSet::new((|| Agent::<String>::new("clerk").model("gpt-5").tool(pay()),)).config(config)
    }
    let model = FakeModel::function(|call, _| match call.input.len() {
        1 => tool_call("pay", json!({"amount": 7})),
        _ => text("done"),
    });
    check("kept_decision", set, async |builder| {
        let database = Kind::Sqlite.create().await?;
        let store = SqlStore::connect(&database.url).await?;
        let env = builder.model(&model).resources(|all| all.decision_store(store)).start().await?;
        let mut histories = run(&env, "clerk", async |handle| {
            let asked = handle.wait_for_interruptions().await?;
            handle.decide(AgentDecision::approve(&asked[0].id).always()).await?;
            Ok(())
        })
        .await?;
        histories.extend(run(&env, "clerk", async |_| Ok(())).await?);
        env.finish().await?;
        Ok(histories)
    })
    .await
}

#[tokio::test]
async fn expiring_question() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        let late = Decision::reject_with("Nobody was there.");
        let config = RunConfig::builder().questions_expire(Duration::from_secs(1), late).build();
        AgentSet::new((|| Agent::<String>::new("clerk").model("gpt-5").tool(pay()),)).config(config)
    }
    check("expiring_question", set, async |builder| run_alone(builder.model(&paying()), "clerk").await).await
}

/// Lets the user pick a file; gives its path.
#[tool(client)]
fn pick_file(title: String) -> String;

#[tokio::test]
async fn client_tool() -> anyhow::Result<()> {
    let set = || AgentSet::new((|| Agent::<String>::new("editor").model("gpt-5").tool(pick_file),));
    let model = FakeModel::script([tool_call("pick_file", json!({"title": "Minutes"})), text("done")]);
    check("client_tool", set, async |builder| {
        let env = builder.model(&model).start().await?;
        let histories = run(&env, "editor", async |handle| {
            let asked = handle.wait_for_interruptions().await?;
            handle.supply_output(&*asked[0].id, "minutes.txt").await?;
            Ok(())
        })
        .await?;
        env.finish().await?;
        Ok(histories)
    })
    .await
}

/// Looks a word up.
#[tool(local, start_to_close = "5s")]
async fn look_up(word: String) -> String {
    format!("{word} is a word")
}

/// Model and tool are called by local activities.
#[tokio::test]
async fn local_activities() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        AgentSet::new((|| Agent::<String>::new("reader").model("gpt-5").tool(look_up),))
            .model_activity(ModelActivityOptions::builder().local(true).build())
    }
    let model = FakeModel::script([tool_call("look_up", json!({"word": "tree"})), text("done")]);
    check("local_activities", set, async |builder| run_alone(builder.model(&model), "reader").await).await
}

#[tokio::test]
async fn child_agent() -> anyhow::Result<()> {
    fn researcher() -> Agent {
        Agent::new("researcher").model("gpt-5")
    }
    fn editor() -> Agent {
        let research = researcher().as_tool().description("Researches.").in_child_workflow(ChildAgent::new());
        Agent::new("editor").model("gpt-5").tool(research)
    }
    let model = FakeModel::function(|call, _| match (&*call.agent, call.input.len()) {
        ("editor", 1) => tool_call("researcher", json!({"input": "bees"})),
        _ => text("done"),
    });
    let set = || AgentSet::new((editor, researcher));
    check("child_agent", set, async |builder| run_alone(builder.model(&model), "editor").await).await
}

/// Lists files.
#[tool]
async fn list(ctx: &mut ToolContext) -> Vec<String> {
    ctx.add_server_data(ServerData::timeline("card", json!({"title": "a.txt"})));
    ctx.set_bounds(Bounds::part(1).of(9).next_cursor("c2"));
    vec!["a.txt".to_owned()]
}

#[tokio::test]
async fn side_data() -> anyhow::Result<()> {
    fn clerk() -> Agent {
        Agent::new("clerk").model("gpt-5").tool(list.bounded())
    }
    let model = FakeModel::script([tool_calls([("list", json!({}))]), text("done")]);
    let set = || AgentSet::new((clerk,));
    check("side_data", set, async |builder| run_alone(builder.model(&model), "clerk").await).await
}

#[tokio::test]
async fn search_attributes() -> anyhow::Result<()> {
    let set = || AgentSet::new((|| Agent::<String>::new("clerk").model("gpt-5").tool(pay()),));
    check("search_attributes", set, async |builder| {
        let wanted = ["AgentName=Keyword", "AgentStatus=Keyword", "AgentWaitsFor=KeywordList"];
        let args = wanted.iter().flat_map(|wanted| ["--search-attribute".to_owned(), (*wanted).to_owned()]);
        let server = DevServerOptions::builder().extra_args(args.collect()).build();
        let builder = builder.model(&paying()).agents_worker().plugin(AgentsPlugin::indexes_runs);
        let env = builder.server_options(server).start().await?;
        let runs = AgentRuns::new(env.client(), env.task_queue()).indexed();
        let request = AgentRequest::new("clerk", "Work.");
        let id = runs.start_run(NewRun::new(request)).await?;
        let handle = AgentHandle::new(env.client(), &*id);
        let asked = handle.wait_for_interruptions().await?;
        handle.approve(&*asked[0].id).await?;
        env.await_run(&env.client().get_workflow_handle::<AgentWorkflow>(&*id)).await?.output()?;
        let histories = executions_of(env.client(), &id).await?;
        env.finish().await?;
        Ok(histories)
    })
    .await
}

/// A store whose first write ends when it is told to.
#[derive(Clone, Default)]
struct SlowStore {
    begun: Arc<Notify>,
    ends: Arc<Notify>,
}

impl Session for SlowStore {
    fn items<'a>(&'a self, _session_id: &'a str, _limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn add<'a>(
        &'a self,
        _session_id: &'a str,
        _items: Vec<Item>,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async {
            self.begun.notify_one();
            self.ends.notified().await;
            Ok(())
        })
    }
}

/// The run is cancelled while it writes to its session, for which it has a minute.
#[tokio::test]
async fn cancelled_session() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        let session =
            SessionRef::Stored { store: "cellar".to_owned(), session_id: "customer 7".to_owned(), limit: None };
        let config = RunConfig::builder().session(session).build();
        AgentSet::new((|| Agent::<String>::new("clerk").model("gpt-5"),)).config(config)
    }
    check("cancelled_session", set, async |builder| {
        let store = SlowStore::default();
        let model = FakeModel::script([]);
        let env = builder.model(&model).session_store("cellar", store.clone()).start().await?;
        let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("clerk", "Work.")).await?;
        store.begun.notified().await;
        started.cancel(WorkflowCancelOptions::default()).await?;
        let has_timer =
            |history: &History| history.events.iter().any(|event| event.event_type() == EventType::TimerStarted);
        while !has_timer(&history::fetch(env.client(), &started.info().workflow_id, None).await?) {
            sleep(Duration::from_millis(20)).await;
        }
        store.ends.notify_one();
        let run = env.await_run(&started).await?;
        let histories = vec![run.history.clone()];
        anyhow::ensure!(run.output().is_err(), "the run is cancelled");
        env.finish().await?;
        Ok(histories)
    })
    .await
}

#[guardrail(output, activity)]
async fn review(_output: &str) -> Result<GuardrailOutput, ToolError> {
    Ok(GuardrailOutput::pass())
}

#[tokio::test]
async fn output_guardrail() -> anyhow::Result<()> {
    let set = || AgentSet::new((|| Agent::<String>::new("clerk").model("gpt-5").output_guardrail(review),));
    let model = FakeModel::script([text("done")]);
    check("output_guardrail", set, async |builder| run_alone(builder.model(&model), "clerk").await).await
}

/// Ships a parcel.
#[tool]
async fn ship(parcel: String) -> String {
    format!("shipped {parcel}")
}

/// Asks the customs about a call.
#[tool]
async fn customs(arguments: String) -> ToolGuardrailOutput {
    let _ = arguments;
    ToolGuardrailOutput::allow()
}

/// Reads what a tool has returned.
#[tool]
async fn receipt(output: String) -> ToolGuardrailOutput {
    let _ = output;
    ToolGuardrailOutput::allow()
}

/// Services check a call before and after its approval, and its output.
#[tokio::test]
async fn tool_guardrails() -> anyhow::Result<()> {
    fn set() -> AgentSet {
        let guarded = ship.needs_approval().with_input_guardrail(ToolInputGuardrail::by_tool(customs));
        let guarded = guarded.with_output_guardrail(ToolOutputGuardrail::by_tool(receipt));
        let clerk = Agent::<String>::new("clerk").model("gpt-5").tool(guarded);
        AgentSet::new((clerk,)).config(RunConfig::builder().guard_tools_before_approval(true).build())
    }
    check("tool_guardrails", set, async |builder| {
        let model = FakeModel::script([tool_call("ship", json!({"parcel": "7"})), text("shipped")]);
        let env = builder.model(&model).start().await?;
        let histories = run(&env, "clerk", async |clerk| {
            let waiting = state_when_waiting(clerk).await?;
            clerk.approve(&*waiting.interruptions[0].id).await?;
            Ok(())
        })
        .await?;
        env.finish().await?;
        Ok(histories)
    })
    .await
}
