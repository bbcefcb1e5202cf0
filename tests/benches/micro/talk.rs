//! A run of so many turns with a tool, played by hand: what the engine is asked and answered, without a host.

use temporal_agents::wire::{Definitions, Item, ModelResponse, ToolOutput, Usage};
use temporal_agents_core::{
    engine::{Beginning, CallResult, Engine, Resolution, Rules, Step, ToolOutcome},
    wire::run_state::{ToolUse, TurnSetup},
};
use temporal_agents_tests::bench::{Spec, agents, script};

/// A run that goes on for ever.
pub(crate) struct Talk {
    engine: Engine,
    setup: TurnSetup,
    spec: Spec,
    done: u32,
}

impl Clone for Talk {
    fn clone(&self) -> Self {
        Self { engine: self.engine.clone(), setup: self.setup.clone(), ..*self }
    }
}

impl Talk {
    /// After so many turns.
    pub(crate) fn after(turns: u32) -> Self {
        let spec = Spec::tools(u32::MAX);
        let agent = agents::assistant();
        let definitions = Definitions {
            tools: agent.def().tools.iter().map(temporal_agents::ToolDef::spec).collect(),
            ..Definitions::default()
        };
        let setup = TurnSetup {
            model: "scripted".to_owned(),
            definitions,
            reset_tool_choice: true,
            tool_use: ToolUse::RunLlmAgain,
            answers_approvals: Vec::new(),
            variants: std::collections::BTreeMap::new(),
            guards_output: false,
            handles_empty_output: false,
            native_tools: Vec::new(),
        };
        let beginning = Beginning {
            agent: "assistant".to_owned(),
            input: vec![Item::user(spec.message())],
            max_turns: None,
            context: serde_json::Map::new(),
            session_input: None,
            server: None,
        };
        let mut talk = Self { engine: Engine::start(beginning, Rules::default()), setup, spec, done: 0 };
        for _ in 0..turns {
            talk.turn();
        }
        talk
    }

    /// One turn: a model call, and a call of the tool.
    pub(crate) fn turn(&mut self) {
        self.up_to_the_model_call();
        let output = script::answer(&self.spec, self.done);
        let output = output.into_iter().map(|item| Item::try_from(item).expect("the script writes objects")).collect();
        let response = ModelResponse::new(output, Usage::of_tokens(100, 20));
        self.resolve(Resolution::Answered(response));
        self.done += 1;
        let Step::CallTools { calls, .. } = self.engine.next() else { panic!("the script calls a tool") };
        let text = script::filler("turn", self.spec.tool_bytes);
        let outcomes = calls.iter().map(|call| {
            let output = CallResult::Output(ToolOutput::Text(text.clone()));
            let mut outcome = ToolOutcome::new(call.index, output);
            outcome.ran = true;
            outcome
        });
        let outcomes = outcomes.collect();
        self.resolve(Resolution::ToolsRan(outcomes));
    }

    /// To where the next model call is due.
    pub(crate) fn up_to_the_model_call(&mut self) {
        loop {
            match self.engine.next() {
                Step::CheckInput { .. } | Step::AdmitInput => {
                    self.resolve(Resolution::InputChecked { results: Vec::new(), more: false });
                }
                Step::PrepareTurn { .. } => self.resolve(Resolution::Prepared(Box::new(self.setup.clone()))),
                Step::CallModel(_) => return,
                other => panic!("the script does not lead to {other:?}"),
            }
        }
    }

    /// The step that is due.
    pub(crate) fn next(&self) -> Step {
        self.engine.next()
    }

    fn resolve(&mut self, resolution: Resolution) {
        self.engine.resolve(resolution).expect("the script breaks no rule");
    }
}
