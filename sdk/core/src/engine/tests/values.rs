//! The input values of the tests.

use std::collections::BTreeMap;

use super::*;
use crate::wire::{
    Definitions, HandoffSpec, OutputSpec,
    run_state::{ToolGuardrailBehavior, ToolGuardrailResult},
};

pub(super) fn beginning() -> Beginning {
    Beginning {
        agent: "triage".to_owned(),
        input: vec![Item::user("hi")],
        max_turns: Some(10),
        context: Map::new(),
        session_input: None,
        server: None,
    }
}

/// The setup of an agent with the tools `weather`, `time`, `pay`, `sign` and `clerk`, handoffs to
/// `refunds` and `sales`, and plain text as output.
pub(super) fn setup() -> TurnSetup {
    TurnSetup {
        model: "gpt-5".to_owned(),
        definitions: Definitions {
            instructions: Some("You sort requests.".to_owned()),
            tools: ["weather", "time", "pay", "sign", "clerk"].map(tool).to_vec(),
            handoffs: vec![handoff("refunds"), handoff("sales")],
            ..Definitions::default()
        },
        reset_tool_choice: true,
        tool_use: ToolUse::RunLlmAgain,
        answers_approvals: Vec::new(),
        variants: BTreeMap::new(),
        guards_output: false,
        handles_empty_output: false,
        native_tools: Vec::new(),
    }
}

pub(super) fn structured() -> TurnSetup {
    let mut setup = setup();
    setup.definitions.output =
        Some(OutputSpec { name: "final_output".to_owned(), schema: json!({"type": "object"}).into(), strict: true });
    setup
}

pub(super) fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object"});
    ToolSpec::Function {
        name: name.to_owned(),
        description: String::new(),
        parameters: parameters.into(),
        strict: true,
    }
}

pub(super) fn handoff(agent: &str) -> HandoffSpec {
    HandoffSpec {
        tool_name: format!("transfer_to_{agent}"),
        tool_description: String::new(),
        input_json_schema: json!({"type": "object"}).into(),
        strict: true,
        agent_name: agent.to_owned(),
    }
}

pub(super) fn item(json: Value) -> Item {
    Item::try_from(json).unwrap()
}

pub(super) fn message(text: &str) -> Item {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    item(json!({"type": "message", "role": "assistant", "status": "completed", "content": content}))
}

pub(super) fn call(call_id: &str, name: &str, arguments: &str) -> Item {
    item(json!({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}))
}

/// Creates a response with these items, with a usage of two input tokens and one output token.
pub(super) fn response(output: Vec<Item>) -> ModelResponse {
    ModelResponse { output, usage: Usage::of_tokens(2, 1), ..ModelResponse::default() }
}

pub(super) fn outcome(index: usize, result: CallResult) -> ToolOutcome {
    let ran = matches!(result, CallResult::Output(_));
    ToolOutcome { ran, ..ToolOutcome::new(index, result) }
}

pub(super) fn turn_due(agent: &str, turn: u32) -> Step {
    Step::PrepareTurn { agent: agent.to_owned(), turn, starts: false }
}

/// The first turn of an agent, with a call of the hooks for its start.
pub(super) fn starts(agent: &str, turn: u32) -> Step {
    Step::PrepareTurn { agent: agent.to_owned(), turn, starts: true }
}

pub(super) fn out_of_turns(max_turns: u32, agent: &str) -> Step {
    Step::HandleError { agent: agent.to_owned(), error: Recoverable::MaxTurns { max_turns } }
}

pub(super) fn refusal(text: &str) -> Item {
    item(json!({"role": "assistant", "content": [{"type": "refusal", "refusal": text}]}))
}

pub(super) fn reasoning(id: &str) -> Item {
    item(json!({"type": "reasoning", "id": id, "summary": []}))
}

/// The error message of a run whose model misbehaves like this.
pub(super) fn misbehaved(message: &str, turn: u32) -> String {
    format!(r#"{message} (model behaviour, agent "triage", turn {turn})"#)
}

pub(super) fn finding(guardrail: &str) -> ToolGuardrailResult {
    ToolGuardrailResult {
        guardrail: guardrail.to_owned(),
        behavior: ToolGuardrailBehavior::Allow,
        output_info: Value::Null,
    }
}

pub(super) fn telling_the_model() -> Rules {
    Rules { unknown_tools: UnknownTools::TellModel, ..Rules::default() }
}

/// The result of a call of agent `clerk`: its run, which waits for decisions on these calls of its
/// tool `sign`.
pub(super) fn paused_clerk(call_ids: &[&str]) -> CallResult {
    let mut run = ByHand::begin(Beginning { agent: "clerk".to_owned(), ..beginning() }, Rules::default());
    run.turn(setup(), call_ids.iter().map(|id| call(id, "sign", "{}")).collect()).unwrap();
    run.tools_come_to(call_ids.iter().map(|_| CallResult::NeedsApproval).collect());
    CallResult::Paused(Box::new(run.engine.into_state()))
}
