//! An activity as one writes it: a reviewer looks at two files and hands off to an editor, who weighs what was found. Four turns, three calls of tools.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, ModelProvider, Tool,
    agentic_session::{AgenticSession, AgenticSessionOptions, SessionResults},
    inline::InlineRunner,
    tool,
    tool::{State, ToolError},
};
use temporal_agents_testing::{
    FakeModel, RecordedCall, RecordedTools, SessionEnvironment,
    fake_model::{handoff, structured, tool_call, tool_calls},
};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// How many calls of the model a review takes.
pub(crate) const MODEL_CALLS: usize = 4;
/// What its tools do, in order, and gather.
pub(crate) const STEPS: [&str; 3] = ["a.rs", "b.rs", "weighed"];

/// What the editor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Verdict {
    is_approved: bool,
    reason: String,
}

/// What the activity returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Review {
    verdict: Verdict,
    steps: Vec<String>,
}

/// The only one there is.
pub(crate) fn review() -> Review {
    Review { verdict: verdict(), steps: STEPS.map(str::to_owned).to_vec() }
}

fn verdict() -> Verdict {
    Verdict { is_approved: true, reason: "Both files are fine.".to_owned() }
}

/// Looks at a file.
///
/// # Arguments
/// * `path` - the file
#[tool]
async fn inspect(State(results): State<SessionResults>, path: String) -> Result<String, ToolError> {
    results.push(&path)?;
    Ok(format!("{path} is fine"))
}

/// Weighs what was found.
#[tool]
async fn weigh(State(results): State<SessionResults>) -> Result<String, ToolError> {
    results.push("weighed")?;
    Ok("It is light.".to_owned())
}

/// The tools, one call of which begins after the other.
pub(crate) fn tools() -> RecordedTools {
    RecordedTools::new([inspect.serial(), weigh.serial()])
}

/// The steps that these calls are.
pub(crate) fn steps(calls: &[RecordedCall]) -> Vec<&str> {
    calls
        .iter()
        .map(|called| called.arguments.get("path").and_then(|path| path.as_str()).unwrap_or("weighed"))
        .collect()
}

/// A model that answers by turn, wherever an attempt goes on.
pub(crate) fn model() -> FakeModel {
    FakeModel::function(|call, _| match call.turn {
        1 => tool_calls([("inspect", json!({"path": "a.rs"})), ("inspect", json!({"path": "b.rs"}))]),
        2 => handoff("editor"),
        3 => tool_call("weigh", json!({})),
        _ => structured(&verdict()),
    })
}

/// The activity.
pub(crate) struct Reviews {
    runner: InlineRunner,
    tools: RecordedTools,
    options: AgenticSessionOptions,
}

impl Reviews {
    pub(crate) fn new(
        model: impl ModelProvider + 'static,
        tools: &RecordedTools,
        options: &AgenticSessionOptions,
    ) -> Self {
        let runner = InlineRunner::new(model).first_pause(Duration::from_millis(1));
        Self { runner, tools: tools.clone(), options: options.clone() }
    }

    fn reviewer(&self) -> Agent<Verdict> {
        let agent = |name: &str| Agent::new(name).model("gpt-5").tools(self.tools.tools());
        agent("reviewer").handoff(agent("editor").output::<Verdict>()).output::<Verdict>()
    }
}

#[activities]
impl Reviews {
    #[activity]
    pub(crate) async fn review(self: Arc<Self>, ctx: ActivityContext, diff: String) -> Result<Review, ActivityError> {
        let body = async |session: AgenticSession| {
            let verdict = session.runner(&self.runner).run(&self.reviewer(), diff).await?.final_output;
            Ok(Review { verdict, steps: session.results()? })
        };
        self.options.clone().run(&ctx, body).await
    }
}

/// Where it runs.
pub(crate) fn environment(
    model: impl ModelProvider + Clone + 'static,
    tools: &RecordedTools,
    options: AgenticSessionOptions,
) -> SessionEnvironment {
    let tools = tools.clone();
    SessionEnvironment::new().register_activities(move || Reviews::new(model.clone(), &tools, &options))
}
