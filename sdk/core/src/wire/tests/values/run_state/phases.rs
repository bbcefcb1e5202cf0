//! Every phase of a run.

use std::collections::BTreeMap;

use serde_json::json;

use crate::wire::{
    run_state::{FinalOutput, FinalSource, Phase, PlannedHandoff, Recoverable, ToolUse, TurnSetup},
    tests::values::definitions,
};

use super::round::{handoff, native_round, round, small_round, waiting_for_input, waiting_for_output};

/// Every phase by the name of its golden file.
pub(super) fn phases() -> Vec<(&'static str, Phase)> {
    let (tools_due, interrupted) = (Box::new(small_round()), Box::new(round()));
    let error_due = |error| Phase::ErrorDue { error };
    let final_due = |source| Phase::FinalDue { output: FinalOutput { value: json!({"rains": false}), source } };
    vec![
        ("turn_due", Phase::TurnDue),
        ("model_due", Phase::ModelDue { setup: Box::new(setup()) }),
        ("model_due_native", Phase::ModelDue { setup: Box::new(native_setup()) }),
        ("tools_due_native", Phase::ToolsDue { round: Box::new(native_round()) }),
        ("tools_due", Phase::ToolsDue { round: tools_due.clone() }),
        ("interrupted", Phase::Interrupted { round: interrupted }),
        ("waiting_for_input", Phase::Interrupted { round: Box::new(waiting_for_input()) }),
        ("waiting_for_output", Phase::Interrupted { round: Box::new(waiting_for_output()) }),
        ("resume_due", Phase::ResumeDue { round: tools_due.clone() }),
        ("mcp_due", Phase::McpDue { round: tools_due.clone() }),
        ("tool_use_due", Phase::ToolUseDue { round: tools_due }),
        ("handoff_due", Phase::HandoffDue { handoffs: vec![PlannedHandoff { variant: 1, ..handoff("call_2") }] }),
        ("rewrite_due", Phase::RewriteDue { handoff: handoff("call_2"), source: "triage".to_owned() }),
        ("output_due", Phase::OutputDue { text: "{\"rains\":false}".to_owned(), incomplete: None }),
        (
            "output_due_cut",
            Phase::OutputDue { text: "{\"ra".to_owned(), incomplete: Some("max_output_tokens".to_owned()) },
        ),
        ("error_due_max_turns", error_due(Recoverable::MaxTurns { max_turns: 10 })),
        ("error_due_refusal", error_due(Recoverable::ModelRefusal { refusal: "not this".to_owned() })),
        ("error_due_output", error_due(Recoverable::InvalidFinalOutput { reason: "missing `rains`".to_owned() })),
        ("error_due_empty", error_due(Recoverable::EmptyFinalOutput)),
        ("final_due_message", final_due(FinalSource::Message)),
        ("final_due_tool", final_due(FinalSource::Tool)),
        ("final_due_handler", final_due(FinalSource::Handler)),
        ("final_due_turn_limit", final_due(FinalSource::TurnLimit)),
        ("failed", Phase::Failed { reason: "Error running tool pay: no funds (agent \"triage\", turn 2)".to_owned() }),
        ("finished", Phase::Finished { output: json!({"rains": false}) }),
    ]
}

fn native_setup() -> TurnSetup {
    TurnSetup { native_tools: vec!["shell".to_owned()], ..setup() }
}

fn setup() -> TurnSetup {
    TurnSetup {
        model: "gpt-5".to_owned(),
        definitions: definitions(),
        reset_tool_choice: true,
        tool_use: ToolUse::StopOnFirstTool,
        answers_approvals: vec!["docs".to_owned()],
        variants: BTreeMap::from([("get_weather".to_owned(), 1)]),
        guards_output: true,
        handles_empty_output: true,
        native_tools: Vec::new(),
    }
}
