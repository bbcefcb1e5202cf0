//! A shop whose histories are recorded once, and its changed builds.

use std::sync::Arc;

use futures::{FutureExt, future::LocalBoxFuture};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents::{
    Agent, Handoff, RunConfig, RunFailed, RunResult, Runner, Tool,
    agent::{GuardrailOutput, OutputType},
    agent_handlers, guardrail, tool,
    workflow::AgentInbox,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// What the desk answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Sold {
    text: String,
}

/// Orders something.
#[tool]
pub(crate) async fn order(item: String) -> String {
    format!("ordered {item}")
}

/// The price of something.
#[tool(inline)]
pub(crate) fn price(item: String) -> String {
    format!("{item} costs 7")
}

#[guardrail(input, activity)]
pub(crate) async fn no_abuse(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.is_empty())
}

pub(crate) fn desk() -> Agent<Sold> {
    Agent::new("desk").model("gpt-5").instructions("You sell.").tool(order).output::<Sold>()
}

pub(crate) fn triage_to<O>(desk: Agent<O>) -> Agent<O>
where
    O: OutputType,
{
    Agent::new("triage").model("gpt-5").instructions("You sort.").handoff(desk).output::<O>()
}

pub(crate) fn triage() -> Agent<Sold> {
    triage_to(desk())
}

/// The desk alone, which asks before it orders.
pub(crate) fn careful() -> Agent<Sold> {
    Agent::new("desk").model("gpt-5").tool(order.needs_approval()).output::<Sold>()
}

pub(crate) fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(price)
}

pub(crate) fn guarded() -> Agent {
    Agent::new("guarded").model("gpt-5").input_guardrail(no_abuse)
}

pub(crate) fn boss() -> Agent {
    Agent::new("boss").model("gpt-5").tool(clerk().as_tool().name("ask_clerk").description("Asks."))
}

pub(crate) fn handoff_of(agent: Agent<Sold>, change: impl FnOnce(Handoff) -> Handoff) -> Agent<Sold> {
    Agent::new("triage").model("gpt-5").handoff(change(Handoff::to_agent(agent))).output::<Sold>()
}

type Runs = dyn Fn(Runner<Shop>, String) -> LocalBoxFuture<'static, Result<RunResult<Value>, RunFailed>> + Send + Sync;

/// A build of the shop: its agents, and how they run.
#[derive(Clone)]
pub(crate) struct Build {
    config: RunConfig,
    runs: Arc<Runs>,
}

impl Build {
    pub(crate) fn of<O: 'static>(agent: impl Fn() -> Agent<O> + Send + Sync + 'static) -> Self {
        Self::with(agent, |runner| runner)
    }

    pub(crate) fn with<O: 'static>(
        agent: impl Fn() -> Agent<O> + Send + Sync + 'static,
        change: impl Fn(Runner<Shop>) -> Runner<Shop> + Send + Sync + 'static,
    ) -> Self {
        let runs = Arc::new(move |runner, question| {
            let (agent, runner) = (agent(), change(runner));
            async move { runner.run(&agent, question).untyped().await }.boxed_local()
        });
        Self { config: RunConfig::default(), runs }
    }

    pub(crate) fn configured(self, config: RunConfig) -> Self {
        Self { config, ..self }
    }
}

/// The workflow of all builds.
#[workflow]
pub(crate) struct Shop {
    build: Build,
    inbox: AgentInbox,
}

impl Shop {
    pub(crate) fn factory(build: Build) -> impl Fn() -> Self + Send + Sync + 'static {
        move || Self { build: build.clone(), inbox: AgentInbox::default() }
    }
}

#[agent_handlers]
#[workflow_methods(factory_only)]
impl Shop {
    #[run(name = "shop")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<Value> {
        let Build { config, runs } = ctx.state(|shop| shop.build.clone());
        Ok(runs(Runner::with_config(ctx, config).inbox(), question).await?.final_output)
    }
}
