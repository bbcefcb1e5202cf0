//! The script of the model: the translators run at the same time, so it is a function of the
//! conversation.

use serde_json::json;
use temporal_agents::wire::{ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, structured, text, tool_call, tool_calls};

use super::Label;

const ENGLISH: &str = "Dish with a hare, Delft, about 1680: blue on white tin glaze.";

/// Returns a curator and two translators.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| {
        let outputs = outputs(call);
        match (&*call.agent, &*outputs) {
            ("curator", [french, german, ..]) => {
                structured(&Label { english: ENGLISH.to_owned(), french: french.clone(), german: german.clone() })
            }
            ("curator", _) => {
                tool_calls([("to_french", json!({"input": ENGLISH})), ("to_german", json!({"input": ENGLISH}))])
            }
            ("French translator", [glaze, ..]) => {
                text(format!("Plat au lièvre, Delft, vers 1680 : bleu sur {glaze} blanche."))
            }
            ("French translator", _) => look_up("French"),
            (_, [glaze, ..]) => text(format!("Teller mit Hase, Delft, um 1680: Blau auf weißer {glaze}.")),
            _ => look_up("German"),
        }
    })
}

fn look_up(language: &str) -> Reply {
    tool_call("glossary", json!({"term": "tin glaze", "language": language}))
}

fn outputs(call: &ModelCall) -> Vec<String> {
    let output = |item: &temporal_agents::wire::Item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => output.as_str().map(str::to_owned),
        _ => None,
    };
    call.input.iter().filter_map(output).collect()
}
