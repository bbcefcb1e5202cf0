mod answers;
mod context;
mod handoffs;
mod output;
mod tool_calls;
mod turns;

use super::*;
use crate::wire::{Definitions, HandoffSpec, OutputSpec, ToolSpec, Usage};

/// A run driven by hand. After every step its state goes through JSON text and back, as it does in a pause.
struct ByHand {
    engine: Engine,
}

impl ByHand {
    /// A run of agent `triage` with the input "hi" and at most 10 turns.
    fn start() -> Self {
        Self::with_max_turns(Some(10))
    }

    fn with_max_turns(max_turns: Option<u32>) -> Self {
        Self { engine: Engine::start("triage", vec![Item::user("hi")], max_turns, Map::new()) }
    }

    fn next(&self) -> Step {
        let step = self.engine.next();
        assert_eq!(step, self.engine.next(), "asking twice gives the same step");
        step
    }

    fn resolve(&mut self, resolution: Resolution) -> Result<(), RunError> {
        let resolved = self.engine.resolve(resolution);
        let json = serde_json::to_string(self.engine.state()).unwrap();
        let read: RunState = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, self.engine.state(), "the state survives JSON");
        assert_eq!(serde_json::to_string(&read).unwrap(), json, "the JSON survives the state");
        self.engine = Engine::resume(read);
        resolved
    }

    /// Prepares the turn that is due and gives the model call that comes of it.
    fn prepare(&mut self, setup: TurnSetup) -> ModelCall {
        let Step::PrepareTurn { .. } = self.next() else { panic!("no turn is due, but {:?}", self.next()) };
        self.resolve(Resolution::Prepared(Box::new(setup))).unwrap();
        let Step::CallModel(call) = self.next() else { panic!("no model call is due, but {:?}", self.next()) };
        *call
    }

    /// A whole turn up to the model's answer.
    fn turn(&mut self, setup: TurnSetup, output: Vec<Item>) -> Result<ModelCall, RunError> {
        let call = self.prepare(setup);
        self.resolve(Resolution::Answered(response(output)))?;
        Ok(call)
    }

    /// Answers the tool calls that are due with these texts, in call order.
    fn tools_return(&mut self, outputs: &[&str]) {
        let outcomes = self.due_calls().iter().zip(outputs).map(|(call, output)| outcome(call, output)).collect();
        self.resolve(Resolution::ToolsRan(outcomes)).unwrap();
    }

    fn due_calls(&self) -> Vec<PlannedCall> {
        let Step::CallTools { calls, .. } = self.next() else { panic!("no tools are due, but {:?}", self.next()) };
        calls
    }

    fn hand_off(&mut self) {
        let Step::TakeHandoff { .. } = self.next() else { panic!("no handoff is due, but {:?}", self.next()) };
        self.resolve(Resolution::HandedOff).unwrap();
    }

    /// The items of the run, one line each: agent, type, call id or text.
    fn transcript(&self) -> Vec<String> {
        self.engine.state().items.iter().map(line).collect()
    }

    /// The raw items as they would be sent.
    fn raw_items(&self) -> Vec<Item> {
        self.engine.state().items.iter().map(|item| item.raw.clone()).collect()
    }
}

fn line(item: &NewItem) -> String {
    let kind = serde_json::to_value(item.kind).unwrap();
    let content = match (item.raw.text(), item.raw.call_id(), item.raw.get("output")) {
        (Some(text), ..) => text,
        (None, Some(call_id), Some(output)) => format!("{call_id} = {}", output.as_str().unwrap_or("(content)")),
        (None, Some(call_id), None) => call_id.to_owned(),
        (None, None, _) => item.raw.kind().to_owned(),
    };
    format!("{}: {} {content}", item.agent, kind.as_str().unwrap())
}

/// Tools `weather` and `time`, handoffs to `refunds` and `sales`, plain text.
fn setup() -> TurnSetup {
    TurnSetup {
        model: "gpt-5".to_owned(),
        definitions: Definitions {
            instructions: Some("You sort requests.".to_owned()),
            tools: vec![tool("weather"), tool("time")],
            handoffs: vec![handoff("refunds"), handoff("sales")],
            ..Definitions::default()
        },
        reset_tool_choice: true,
    }
}

fn structured() -> TurnSetup {
    let mut setup = setup();
    setup.definitions.output =
        Some(OutputSpec { name: "final_output".to_owned(), schema: json!({"type": "object"}), strict: true });
    setup
}

fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object"});
    ToolSpec::Function { name: name.to_owned(), description: String::new(), parameters, strict: true }
}

fn handoff(agent: &str) -> HandoffSpec {
    HandoffSpec {
        tool_name: format!("transfer_to_{agent}"),
        tool_description: String::new(),
        input_json_schema: json!({"type": "object"}),
        strict: true,
        agent_name: agent.to_owned(),
    }
}

fn item(json: Value) -> Item {
    Item::try_from(json).unwrap()
}

fn message(text: &str) -> Item {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    item(json!({"type": "message", "role": "assistant", "status": "completed", "content": content}))
}

fn call(call_id: &str, name: &str, arguments: &str) -> Item {
    item(json!({"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}))
}

/// Two input tokens and one output token.
fn response(output: Vec<Item>) -> ModelResponse {
    ModelResponse { output, usage: Usage::of_tokens(2, 1), ..ModelResponse::default() }
}

fn outcome(call: &PlannedCall, output: &str) -> ToolOutcome {
    ToolOutcome { call_id: call.call_id.clone(), output: output.into(), context_patch: None }
}

fn done(output: impl Into<Value>) -> Step {
    Step::Done { output: output.into() }
}

fn turn_due(agent: &str, turn: u32) -> Step {
    Step::PrepareTurn { agent: agent.to_owned(), turn }
}
