//! Approval rules over the typed arguments of a tool: they cannot be passed by.

use futures::executor::block_on;
use rstest::rstest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunContext, Runner, Tool, ToolDef, inline::InlineRunner, run::RunOutcome, tool, tool::NeedsApproval, tools,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::logs;

/// Pays money back.
///
/// # Arguments
/// * `invoice` - number of the invoice
/// * `euros` - the amount
#[tool(idempotent = false, needs_approval = euros > 50 || invoice.starts_with("old"))]
async fn refund(invoice: String, euros: u32) -> String {
    format!("{euros} for {invoice}")
}

/// The amount, as a rule of its own reads it.
#[derive(Deserialize, JsonSchema)]
struct Amount {
    euros: u32,
}

/// Pays money back, at once.
///
/// # Arguments
/// * `invoice` - number of the invoice
/// * `euros` - the amount
#[tool(inline)]
fn credit(invoice: String, euros: u32) -> String {
    format!("{euros} for {invoice}")
}

fn strictly(euros: u32) -> bool {
    assert!(euros != 13, "13 is bad luck");
    false
}

/// Gives money away.
///
/// # Arguments
/// * `euros` - the amount
#[tool(inline, needs_approval = strictly(euros))]
fn donate_by_rule(euros: u32) -> u32 {
    euros
}

fn by_attribute() -> ToolDef {
    refund.definition()
}

fn by_method() -> ToolDef {
    credit.definition().named("refund").needs_approval_for(|run: &RunContext, Amount { euros }| {
        euros > run.get::<u32>("limit").ok().flatten().unwrap_or(50)
    })
}

/// What an agent with this tool waits for, that calls it with these arguments.
async fn waits_for(tool: ToolDef, arguments: Vec<Value>) -> anyhow::Result<Vec<String>> {
    let name = tool.name().to_owned();
    let model =
        FakeModel::script([tool_calls(arguments.into_iter().map(|arguments| (&*name, arguments))), text("done")]);
    let agent = Agent::new("clerk").model("gpt-5").tool(tool);
    Ok(match InlineRunner::new(model).run(&agent, "Please.").until_paused().await? {
        RunOutcome::Paused(paused) => {
            paused.interruptions().iter().map(temporal_agents::wire::Interruption::arguments).collect()
        }
        RunOutcome::Finished(_) => Vec::new(),
    })
}

#[rstest]
#[case::in_the_attribute(by_attribute())]
#[case::by_a_method(by_method())]
#[tokio::test]
async fn calls_wait_for_which_the_rule_holds(#[case] tool: ToolDef) -> anyhow::Result<()> {
    let call = |euros: u32| json!({"invoice": "7", "euros": euros});
    assert_eq!(
        waits_for(tool, vec![call(50), call(51), call(500)]).await?,
        [call(51).to_string(), call(500).to_string()]
    );
    Ok(())
}

#[rstest]
#[case::of_another_type(json!({"invoice": "7", "euros": "five"}))]
#[case::below_the_type(json!({"invoice": "7", "euros": -5}))]
#[case::under_another_name(json!({"invoice": "7", "amount": 500}))]
#[case::missing(json!({}))]
#[case::of_no_object(json!(500))]
#[case::of_no_json(json!("{euros"))]
#[tokio::test]
async fn calls_wait_whose_arguments_cannot_be_read(
    #[values(by_attribute(), by_method())] tool: ToolDef,
    #[case] arguments: Value,
) -> anyhow::Result<()> {
    assert_eq!(waits_for(tool, vec![arguments]).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_call_waits_whose_rule_panics_and_the_log_says_why() -> anyhow::Result<()> {
    logs::keep();
    let calls = vec![json!({"euros": 12}), json!({"euros": 13})];
    assert_eq!(waits_for(donate_by_rule.definition(), calls).await?, [r#"{"euros":13}"#]);
    let lines = logs::with("tool=\"donate_by_rule\"");
    let [line] = &*lines else { panic!("{lines:?}") };
    assert!(line.contains("the approval rule failed, so the call waits for a decision"), "{line}");
    assert!(line.contains("reason=\"it panicked: 13 is bad luck\""), "{line}");
    Ok(())
}

#[derive(Deserialize, JsonSchema)]
struct Renamed {
    amount: u32,
}

#[rstest]
#[case::a_member_that_is_no_parameter(
    refund.needs_approval_for(|_run, Renamed { amount }| amount > 50),
    "reads [\"amount\"], but its parameters are [\"invoice\", \"euros\"]"
)]
#[case::anything(
    refund.needs_approval_for(|_run, arguments: Value| arguments["amount"] == 50),
    "reads no named member, but its parameters are [\"invoice\", \"euros\"]"
)]
fn a_rule_that_does_not_fit_its_tool_is_refused_before_the_run(#[case] tool: ToolDef, #[case] why: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let agent = Agent::new("clerk").model("gpt-5").tool(tool);
    let refused = runtime
        .block_on(InlineRunner::default().run(&agent, "Please.").into_future())
        .expect_err("the rule reads nothing");
    assert_eq!(
        refused.to_string(),
        format!(
            "one thing is wrong with the agents:\n\
             - tool \"refund\" of agent \"clerk\": its approval rule {why}; all members of the rule's type must be \
             parameters of the tool"
        )
    );
}

#[derive(Clone)]
struct Till;

#[tools]
impl Till {
    /// Opens the till.
    ///
    /// # Arguments
    /// * `minutes` - for how long
    #[tool(needs_approval = minutes > 5)]
    async fn open_till(&self, minutes: u32) -> u32 {
        minutes
    }
}

/// Lets the user sign.
///
/// # Arguments
/// * `pages` - how many
#[tool(client, needs_approval = pages > 10)]
fn sign(pages: u32) -> String;

/// Closes the shop.
#[tool(needs_approval)]
async fn close_shop() {}

#[test]
fn every_kind_of_tool_can_have_a_rule() {
    for tool in [Till::open_till_tool(), sign.definition()] {
        assert!(matches!(tool.approval_rule(), NeedsApproval::WhenArguments(_)), "{tool:?}");
    }
    assert!(matches!(close_shop.definition().approval_rule(), NeedsApproval::Always));
    assert_eq!(block_on(close_shop.call()), ());
}

#[workflow]
#[derive(Default)]
pub(crate) struct Refunding;

#[workflow_methods]
impl Refunding {
    #[run(name = "refunding_by_rule")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<String>> {
        Ok(match Runner::new(ctx).run(&refunds(), "Please.").until_paused().await? {
            RunOutcome::Paused(paused) => {
                paused.interruptions().iter().map(temporal_agents::wire::Interruption::arguments).collect()
            }
            RunOutcome::Finished(_) => Vec::new(),
        })
    }
}

fn refunds() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(refund).tool(donate_by_rule)
}

#[tokio::test]
async fn a_rule_is_asked_in_the_workflow_and_replays() -> anyhow::Result<()> {
    let calls = [
        ("refund", json!({"invoice": "7", "euros": 50})),
        ("refund", json!({"invoice": "8", "euros": 51})),
        ("refund", json!({"invoice": "old-9", "euros": 1})),
        ("donate_by_rule", json!({"euros": 13})),
    ];
    let expected: Vec<String> = calls[1..].iter().map(|(_, arguments)| arguments.to_string()).collect();
    let model = FakeModel::script([tool_calls(calls)]);
    let builder = AgentEnvironment::builder().workflow::<Refunding>()?.model(&model).agents((refunds,));
    let env = builder.without_workflow_cache().start().await?;
    assert_eq!(env.run(Refunding::run, ()).await?.output()?, expected);
    env.finish().await?;
    Ok(())
}
