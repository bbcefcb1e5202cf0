//! `#[tools]`: methods as tools, with the worker's value behind them.

use std::sync::{Arc, Mutex};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, State, ToolContext, ToolDef, ToolError,
    tool::{CallInfo, RunContext},
    tools,
};
use temporal_agents_core::tool::{StateRequirement, ToolBinding};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{
    agent_handlers::support::{activity_types, last_outputs},
    examples::Cache,
    support::Stock,
};

/// What a desk has done.
#[derive(Clone, Default)]
pub(crate) struct Desk {
    refunded: Arc<Mutex<Vec<u32>>>,
}

#[tools]
impl Desk {
    /// Gives the money of an order back.
    ///
    /// # Arguments
    /// * `order` - number of the order
    #[temporal_agents::tool(idempotent = false)]
    pub(crate) async fn refund(&self, order: u32) -> Result<String, ToolError> {
        if order == 13 {
            return Err(ToolError::tell_model("order 13 was never paid"));
        }
        self.note(order);
        Ok(format!("refunded {order}"))
    }

    /// Lists what was refunded, and what is on stock.
    #[tool(name = "list-refunds")]
    async fn refunds(&self, ctx: &ToolContext, State(stock): State<Stock>) -> String {
        format!("{}: {:?}, stock {}", ctx.info().tool, self.refunded.lock().expect("not poisoned"), stock.0)
    }

    fn note(&self, order: u32) {
        self.refunded.lock().expect("not poisoned").push(order);
    }
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tools(Desk::tools())
}

/// Somebody at the desk.
#[workflow]
#[derive(Default)]
pub(crate) struct Counter;

#[workflow_methods]
impl Counter {
    #[run(name = "tools-counter")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&clerk(), request).await?.final_output)
    }
}

#[test]
fn each_method_is_a_tool_of_its_name() {
    let tools = Desk::tools();
    let names: Vec<&str> = tools.iter().map(ToolDef::name).collect();
    assert_eq!(names, ["refund", "list-refunds"]);
    let refund = Desk::refund_tool();
    assert_eq!(refund.description(), "Gives the money of an order back.");
    assert_eq!(refund.parameters()["properties"]["order"]["description"], "number of the order");
    let ToolBinding::Activity { options, .. } = refund.binding() else { panic!("it is an activity") };
    assert_eq!(options.attempts(), 1);
    let needs: Vec<&str> = Desk::refunds_tool().requirements().iter().map(StateRequirement::type_name).collect();
    assert_eq!(needs.len(), 2);
    assert!(needs[0].ends_with("::Stock") && needs[1].ends_with("::Desk"), "{needs:?}");
}

#[tokio::test]
async fn a_method_is_called_as_it_was_written() {
    let desk = Desk::default();
    assert_eq!(desk.refund(7).await.expect("paid"), "refunded 7");
    assert_eq!(desk.refund(13).await.expect_err("never paid").message(), "order 13 was never paid");
    let ctx = ToolContext::new(CallInfo::new("list", "call_0", "clerk", 1), RunContext::default());
    assert_eq!(desk.refunds(&ctx, State(Stock(3))).await, "list: [7], stock 3");
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn calls_share_the_value_of_the_worker(#[case] cache: Cache) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([
            ("refund", json!({"order": 7})),
            ("refund", json!({"order": 13})),
            ("refund", json!({"order": "x"})),
        ]),
        tool_call("list-refunds", json!({})),
        text("done"),
    ]);
    let desk = Desk::default();
    let env = cache.environment::<Counter>()?.model(&model).state(Stock(3)).state(desk.clone()).agents((clerk,));
    let env = env.start().await?;
    let run = env.run(Counter::run, "Give me my money back.".to_owned()).await?;
    let (asked, refund) = ("agents.call_model", "agents.tool.refund");
    assert_eq!(activity_types(&run), [asked, refund, refund, asked, "agents.tool.list-refunds", asked]);
    assert_eq!(run.output()?, "done");
    let told = [
        "refunded 7",
        "order 13 was never paid",
        r#"Invalid JSON input for tool refund: order: fails type, allowed: "integer""#,
        "list-refunds: [7], stock 3",
    ];
    assert_eq!(last_outputs(&model), told.map(|text| json!(text)));
    assert_eq!(*desk.refunded.lock().expect("not poisoned"), [7]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_without_the_value_does_not_start() -> anyhow::Result<()> {
    let env = Cache::On.environment::<Counter>()?.model(&FakeModel::script([])).state(Stock(3)).agents((clerk,));
    let error = env.start().await.expect_err("the desk is missing").to_string();
    assert!(error.contains("\"refund\"") && error.contains("tools_macro::Desk"), "{error}");
    Ok(())
}

/// A set in a module of its own, in a crate that has another name for this one.
pub(crate) mod elsewhere {
    mod agents {
        pub(super) use ::temporal_agents as renamed;
    }

    #[derive(Clone)]
    pub(crate) struct Echo(pub(crate) String);

    #[agents::renamed::tools(crate = agents::renamed)]
    impl Echo {
        /// Says it again.
        #[agents::renamed::tool]
        pub(super) async fn echo(&self, r#type: String) -> String {
            format!("{}{}", self.0, r#type)
        }
    }
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!(elsewhere::Echo::echo_tool().parameters()["required"], json!(["type"]));
    assert_eq!(elsewhere::Echo::tools().len(), 1);
}
