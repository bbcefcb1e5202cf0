//! A desk whose calls wait for decisions, and a workflow that pauses and goes on with it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, ToolError,
    run::{PausedRun, RunOutcome},
    tool,
    wire::{Decision, DecisionRefused, Interruption, RunState},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, WorkflowContext, WorkflowResult};

/// Pays a bill.
///
/// # Arguments
/// * `amount` - in euros
#[tool]
async fn pay(amount: u32) -> Result<String, ToolError> {
    Ok(format!("paid {amount}"))
}

/// Gives money back.
///
/// # Arguments
/// * `amount` - in euros
#[tool]
async fn refund(amount: u32) -> Result<String, ToolError> {
    Ok(format!("refunded {amount}"))
}

/// Signs a page.
#[tool(inline)]
fn sign(page: u32) -> String {
    format!("signed page {page}")
}

pub(crate) fn desk() -> Agent {
    let clerk = Agent::new("clerk").model("gpt-5").tool(sign.needs_approval());
    Agent::new("desk")
        .model("gpt-5")
        .tool(pay.needs_approval())
        .tool(refund.needs_approval())
        .tool(clerk.as_tool().description("Signs papers."))
}

/// The desk pays twice, refunds and has a page signed, all of which waits; then it refunds once more.
pub(crate) fn script() -> FakeModel {
    FakeModel::script([
        tool_calls([
            ("pay", json!({"amount": 5})),
            ("pay", json!({"amount": 900})),
            ("refund", json!({"amount": 3})),
            ("clerk", json!({"input": "Sign page 1."})),
        ]),
        tool_call("sign", json!({"page": 1})),
        text("I could not sign it."),
        tool_call("refund", json!({"amount": 4})),
        text("done"),
    ])
}

/// What of the script waits: id, agent and tool of each call.
pub(crate) fn waiting() -> Vec<(String, String, String)> {
    let call = |id: &str, agent: &str, tool: &str| (id.to_owned(), agent.to_owned(), tool.to_owned());
    vec![
        call("call_0_0", "desk", "pay"),
        call("call_0_1", "desk", "pay"),
        call("call_0_2", "desk", "refund"),
        call("call_0_3/call_1_0", "clerk", "sign"),
    ]
}

pub(crate) fn shown(interruptions: Vec<Interruption>) -> Vec<(String, String, String)> {
    interruptions.into_iter().map(|call| (call.id, call.agent, call.tool)).collect()
}

/// Approves once, rejects with a message, approves for good, rejects inside.
///
/// # Errors
/// When the run waits for something else.
pub(crate) fn decide(state: &mut RunState) -> Result<(), DecisionRefused> {
    state.decide("call_0_0", Decision::approve())?;
    state.decide("call_0_1", Decision::reject_with("too much"))?;
    state.decide_always("call_0_2", Decision::approve())?;
    state.decide("call_0_3/call_1_0", Decision::reject())
}

/// What the models of the script were told when all was decided like that: the clerk's at its second call, the desk's at its
/// last.
pub(crate) fn told(model: &FakeModel) -> (Vec<Value>, Vec<Value>) {
    let calls = model.calls();
    let outputs = |call: usize| calls[call].input.iter().filter_map(|item| item.get("output").cloned()).collect();
    (outputs(2), outputs(4))
}

pub(crate) fn expected() -> (Vec<Value>, Vec<Value>) {
    let desk = ["paid 5", "too much", "refunded 3", "I could not sign it.", "refunded 4"];
    (vec![json!("Tool execution was not approved.")], desk.map(Value::from).to_vec())
}

/// What the workflow does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Runs, decides, goes on.
    DecideHere,
    /// Runs, decides, goes on in the next run of the workflow.
    DecideAndContinue,
    /// Runs, and ends with the state.
    Pause,
    /// Goes on with a state that came as text.
    Resume(String),
}

/// How the workflow ends: with the desk's answer, or with the text of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Finished(String),
    Paused(String),
}

#[workflow]
#[derive(Default)]
pub(crate) struct Desk;

#[workflow_methods]
impl Desk {
    #[run(name = "paused_desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, task: Task) -> WorkflowResult<Outcome> {
        let runner = Runner::new(ctx);
        let outcome = match &task {
            Task::Resume(state) => runner.run(&desk(), read(state)).until_paused().await?,
            _ => runner.run(&desk(), "Settle it.").until_paused().await?,
        };
        let state = match outcome {
            RunOutcome::Finished(result) => return Ok(Outcome::Finished(result.final_output)),
            RunOutcome::Paused(PausedRun { state, .. }) => state,
        };
        match task {
            Task::Pause | Task::Resume(_) => Ok(Outcome::Paused(written(&state))),
            Task::DecideHere => match runner.run(&desk(), read(&decided(state))).until_paused().await? {
                RunOutcome::Finished(result) => Ok(Outcome::Finished(result.final_output)),
                RunOutcome::Paused(PausedRun { state, .. }) => Ok(Outcome::Paused(written(&state))),
            },
            Task::DecideAndContinue => {
                match ctx.continue_as_new(Task::Resume(decided(state)), ContinueAsNewOptions::default())? {}
            }
        }
    }
}

fn decided(mut state: RunState) -> String {
    decide(&mut state).expect("the script waits for these");
    written(&state)
}

pub(crate) fn written(state: &RunState) -> String {
    serde_json::to_string(state).expect("a state is JSON")
}

pub(crate) fn read(text: &str) -> RunState {
    serde_json::from_str(text).expect("a state was written")
}
