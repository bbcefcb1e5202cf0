//! Every kind of function that an author supplies, panicking: the run fails and names it, and no workflow task fails. (The body of a tool that
//! panics is an outcome of its call: see `tool_matrix.rs`.)

use std::{panic, sync::Once};

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Handoff, Instructions, RunConfig, RunFailed, Runner, Tool, ToolDef, ToolError,
    agent::{HandoffInputFilter, HookContext, HookResult, InputGuardrail, OutputGuardrail, RunHooks, ToolUseBehavior},
    run::{
        CallModelInputFilter, ErrorHandler, Handled, HistoryMapper, MemorySession, SessionInputCallback,
        ToolErrorFormatter,
    },
    tool::{OnToolError, RunContext, ToolContext, ToolInputGuardrail, ToolOutputGuardrail},
    wire::ModelCall,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, handoff, text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, histories};

/// The functions, and what a run says in which each of them panics.
const CASES: [(&str, &str); 22] = [
    ("instructions", "the instructions of agent \"asker\" panicked: oh"),
    ("enabled tool", "the enabled rule of tool \"rest\" of agent \"asker\" panicked: oh"),
    ("enabled handoff", "the enabled rule of handoff \"transfer_to_refunds\" of agent \"asker\" panicked: oh"),
    ("on_handoff", "on_handoff of \"transfer_to_refunds\" of agent \"asker\" panicked: oh"),
    ("input filter", "the input filter of handoff \"transfer_to_refunds\" of agent \"asker\" panicked: oh"),
    ("history mapper", "the handoff_history_mapper of agent \"asker\" panicked: oh"),
    ("model input filter", "the call_model_input_filter of agent \"asker\" panicked: oh"),
    ("hook", "hook on_agent_start of agent \"asker\" panicked: oh"),
    ("session input", "the session_input_callback of agent \"asker\" panicked: oh"),
    ("error formatter", "the tool_error_formatter of agent \"asker\" panicked: oh"),
    ("approval rule", "the approval rule of tool \"rest\" of agent \"asker\" panicked: oh"),
    ("before a tool", "input guardrail \"before\" of tool \"rest\" of agent \"asker\" panicked: oh"),
    ("after a tool", "output guardrail \"after\" of tool \"rest\" of agent \"asker\" panicked: oh"),
    ("tool error", "the error function of tool \"rest\" of agent \"asker\" panicked: oh"),
    ("extractor", "Error running tool ask: oh (agent \"asker\", turn 1)"),
    ("tool use", "the tool_use_behavior of agent \"asker\" panicked: oh"),
    ("judge of input", "input guardrail \"judge\" of agent \"asker\" panicked: oh"),
    ("judge of output", "output guardrail \"judge\" of agent \"asker\" panicked: oh"),
    ("output type", "the output type Picky of agent \"asker\" panicked: oh"),
    ("handled output", "the output type Picky of agent \"asker\" panicked: oh"),
    ("error handler", "the error handler for max_turns of agent \"asker\" panicked: oh"),
    ("context", "the value for run context key \"odd\" cannot be written as JSON: it panicked: oh"),
];

/// A type that cannot be read or written.
#[derive(Debug, JsonSchema)]
struct Picky {
    #[expect(dead_code, reason = "nobody comes to read it")]
    word: String,
}

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("oh")
    }
}

impl Serialize for Picky {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("oh")
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Startled;

impl RunHooks for Startled {
    fn on_agent_start(&self, _: &HookContext<'_>, _: &str) -> HookResult {
        panic!("oh")
    }
}

fn rest() -> ToolDef {
    ToolDef::inline("rest", "Does nothing.", |_: &mut ToolContext, Nothing {}| Ok("rested".into()))
}

fn fails() -> ToolDef {
    ToolDef::inline("rest", "Fails.", |_: &mut ToolContext, Nothing {}| Err(ToolError::failed("no rest")))
}

fn agent(case: &str) -> Agent {
    let asker = Agent::new("asker").model("gpt-5");
    let refunds = || Agent::new("refunds").model("gpt-5");
    match case {
        "instructions" => asker.instructions(Instructions::computed(|_, _| panic!("oh"))),
        "enabled tool" => asker.tool(rest().enabled_when(|_, _| panic!("oh"))),
        "enabled handoff" => asker.handoff(Handoff::to_agent(refunds()).enabled_when(|_, _| panic!("oh"))),
        "on_handoff" => asker.handoff(Handoff::to_agent(refunds()).on_taken(|_: &mut RunContext| panic!("oh"))),
        "input filter" => {
            asker.handoff(Handoff::to_agent(refunds()).input_filter(HandoffInputFilter::new(|_| panic!("oh"))))
        }
        "history mapper" => asker.handoff(Handoff::to_agent(refunds()).nest_history(true)),
        "hook" => asker.hooks(Startled),
        "error formatter" => asker.tool(fails()),
        "approval rule" => asker.tool(rest().needs_approval_when(|_, _, _| panic!("oh"))),
        "before a tool" => asker.tool(rest().input_guardrail(ToolInputGuardrail::new("before", |_| panic!("oh")))),
        "after a tool" => asker.tool(rest().output_guardrail(ToolOutputGuardrail::new("after", |_, _| panic!("oh")))),
        "tool error" => asker.tool(fails().on_error(OnToolError::tell(|_call, _failure| panic!("oh")))),
        "extractor" => {
            let ask = refunds().as_tool().name("ask").extract_output(|_| panic!("oh"));
            asker.tool(ask.on_error(OnToolError::FailRun))
        }
        "tool use" => asker.tool(rest()).tool_use_behavior(ToolUseBehavior::decided_by(|_, _| panic!("oh"))),
        "judge of input" => asker.input_guardrail(InputGuardrail::by_agent("judge", refunds(), |_| panic!("oh"))),
        "judge of output" => asker.output_guardrail(OutputGuardrail::by_agent("judge", refunds(), |_| panic!("oh"))),
        _ => asker,
    }
}

fn config(case: &str) -> RunConfig {
    let mut config = RunConfig::default();
    match case {
        "history mapper" => config.handoff_history_mapper = Some(HistoryMapper::new(|_| panic!("oh"))),
        "model input filter" => {
            config.call_model_input_filter = Some(CallModelInputFilter::new(|_, _, _| panic!("oh")));
        }
        "session input" => {
            config.session = Some(MemorySession::default().into());
            config.session_input_callback = Some(SessionInputCallback::new(|_, _| panic!("oh")));
        }
        "error formatter" => config.tool_error_formatter = Some(ToolErrorFormatter::new(|_| panic!("oh"))),
        "handled output" => {
            config.max_turns = Some(0);
            config.error_handlers.max_turns =
                Some(ErrorHandler::new(|_| Ok(Some(Handled::output(json!({"word": "oh"}))))));
        }
        "error handler" => {
            config.max_turns = Some(0);
            config.error_handlers.max_turns = Some(ErrorHandler::new(|_| panic!("oh")));
        }
        "context" => config.set_context("odd", Picky { word: String::new() }),
        _ => {}
    }
    config
}

/// Calls what the agent has.
fn play(call: &ModelCall, _number: usize) -> Reply {
    let definitions = &call.definitions;
    if let Some(tool) = definitions.tools.first() {
        let name = tool.name();
        return tool_call(name, if name == "ask" { json!({"input": "hello"}) } else { json!({}) });
    }
    if !definitions.handoffs.is_empty() {
        return handoff("refunds");
    }
    text(r#"{"word": "hello"}"#)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Startling;

#[workflow_methods]
impl Startling {
    #[run(name = "startling")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, case: String) -> WorkflowResult<Value> {
        let (runner, agent) = (Runner::with_config(ctx, config(&case)), agent(&case));
        let result = match &*case {
            "output type" | "handled output" => runner.run(&agent.output::<Picky>(), "hello").untyped().await?,
            _ => runner.run(&agent, "hello").untyped().await?,
        };
        if case == "parse" {
            result.parse::<Picky>().map_err(RunFailed::from)?;
        }
        Ok(result.final_output)
    }
}

/// Says nothing of the panics of this test: on a busy machine a workflow task may take longer than it has while it prints where each of
/// its functions stands.
fn without_backtraces() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some("oh") {
                tell(info);
            }
        }));
    });
}

#[rstest]
#[tokio::test]
async fn a_function_that_panics_fails_the_run_and_is_named(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    without_backtraces();
    let env = cache.environment::<Startling>()?.model(&FakeModel::function(play)).start().await?;
    let of_caller = ("parse", "the output type it::panics::Picky of agent \"asker\" panicked: oh");
    for (case, message) in CASES.into_iter().chain([of_caller]) {
        let run = env.run(Startling::run, case.to_owned()).await?;
        histories::<Startling>(&env, &run.workflow_id).await?;
        let failure = run.failure_chain().into_iter().next().unwrap_or_default();
        assert_eq!((case, failure), (case, ("AgentsWorkflowError".to_owned(), message.to_owned())));
    }
    env.finish().await?;
    Ok(())
}
