//! Which arguments do not fit, told to the model by one rule of the run, on every host.

use std::sync::Arc;

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, RunConfig, Runner, Tool,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    tool,
    tool::{OnToolError, TOOL_FAILED},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, SessionEnvironment,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

/// Where a parcel goes.
#[derive(Deserialize, JsonSchema)]
enum Zone {
    Inland,
    Abroad,
}

/// The price of a parcel.
///
/// # Arguments
/// * `zone` - where it goes
#[tool]
async fn price(zone: Zone) -> u32 {
    match zone {
        Zone::Inland => 5,
        Zone::Abroad => 20,
    }
}

/// The tax in a zone.
///
/// # Arguments
/// * `zone` - where it applies
#[tool(inline)]
fn tax(zone: Zone) -> u32 {
    match zone {
        Zone::Inland => 1,
        Zone::Abroad => 0,
    }
}

/// The agent inside has the rule, too; a tool with a rule of its own keeps that.
fn clerk() -> Agent {
    let inner = Agent::new("inner").model("gpt-5").tool(tax);
    Agent::new("clerk")
        .model("gpt-5")
        .tool(price)
        .tool(tax)
        .tool(price.definition().named("own_price").with_on_error(OnToolError::fixed_message()))
        .tool(inner.as_tool().name("ask"))
}

fn script() -> FakeModel {
    let wrong = || json!({"zone": "Moon"});
    FakeModel::script([
        tool_calls([("price", wrong()), ("tax", wrong()), ("own_price", wrong()), ("ask", json!({"input": "tax?"}))]),
        tool_calls([("tax", wrong())]),
        text("one"),
        text("done"),
    ])
}

/// What the models were told: that of the agent, and that of the agent inside.
fn told(model: &FakeModel) -> (Vec<String>, Vec<String>) {
    let calls = model.calls();
    let of = |agent: &str| -> Vec<String> {
        let last = calls.iter().rfind(|call| call.agent == agent).expect("the model was asked");
        let outputs = last.input.iter().filter_map(|item| item.get("output"));
        outputs.map(|output| output.as_str().unwrap_or_default().to_owned()).collect()
    };
    (of("clerk"), of("inner"))
}

/// The rule of a run.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Rule {
    Standard,
    Described,
    Hints,
}

impl Rule {
    fn on_tool_error(self) -> OnToolError {
        match self {
            Self::Standard => OnToolError::Standard,
            Self::Described => OnToolError::describe_argument_errors(),
            Self::Hints => OnToolError::retry_hints(),
        }
    }
}

fn expected(rule: Rule) -> (Vec<String>, Vec<String>) {
    let issues = r#"[{"field":"zone","constraint":"enum","allowed":["Inland","Abroad"]}]"#;
    let say = |tool: &str| match rule {
        Rule::Standard => {
            format!(r#"Invalid JSON input for tool {tool}: zone: fails enum, allowed: ["Inland","Abroad"]"#)
        }
        Rule::Described => format!("Invalid JSON input for tool {tool}. What does not fit: {issues}"),
        Rule::Hints => {
            format!(r#"{{"reason":"invalid_arguments","fields":{issues},"prior_input":{{"zone":"Moon"}}}}"#)
        }
    };
    (vec![say("price"), say("tax"), TOOL_FAILED.to_owned(), "one".to_owned()], vec![say("tax")])
}

#[rstest]
#[case::by_default(Rule::Standard)]
#[case::by_the_rule_of_the_run(Rule::Described)]
#[case::as_retry_hints(Rule::Hints)]
#[tokio::test]
async fn an_inline_run_tells_which_arguments_do_not_fit(#[case] rule: Rule) -> anyhow::Result<()> {
    let model = script();
    let runner = InlineRunner::new(model.clone()).on_tool_error(rule.on_tool_error());
    assert_eq!(runner.run(&clerk(), "Prices?").await?.final_output, "done");
    assert_eq!(told(&model), expected(rule));
    Ok(())
}

struct Desk(FakeModel);

#[activities]
impl Desk {
    #[activity]
    async fn desk(self: Arc<Self>, ctx: ActivityContext, rule: Rule) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            let config = RunConfig::builder().on_tool_error(rule.on_tool_error()).build();
            let runner = InlineRunner::with_config(self.0.clone(), config);
            Ok(session.runner(&runner).run(&clerk(), "Prices?").await?.final_output)
        })
        .await
    }
}

#[rstest]
#[tokio::test]
async fn a_session_tells_which_arguments_do_not_fit(
    #[values(Rule::Described, Rule::Hints)] rule: Rule,
) -> anyhow::Result<()> {
    let model = script();
    let of_env = model.clone();
    let env = SessionEnvironment::new().register_activities(move || Desk(of_env.clone()));
    assert_eq!(env.attempt().run(Desk::desk, rule).await.result?, "done");
    assert_eq!(told(&model), expected(rule));
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Pricing;

#[workflow_methods]
impl Pricing {
    #[run(name = "pricing")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, rule: Rule) -> WorkflowResult<String> {
        let runner = Runner::new(ctx).on_tool_error(rule.on_tool_error());
        Ok(runner.run(&clerk(), "Prices?").await?.final_output)
    }
}

#[rstest]
#[case::with_the_workflow_cache(true)]
#[case::without_the_workflow_cache(false)]
#[tokio::test]
async fn a_workflow_tells_which_arguments_do_not_fit_and_replays(
    #[case] cached: bool,
    #[values(Rule::Described, Rule::Hints)] rule: Rule,
) -> anyhow::Result<()> {
    let model = script();
    let mut builder = AgentEnvironment::builder().workflow::<Pricing>()?.model(&model).agents((clerk,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    assert_eq!(env.run(Pricing::run, rule).await?.output()?, "done");
    env.finish().await?;
    assert_eq!(told(&model), expected(rule));
    Ok(())
}
