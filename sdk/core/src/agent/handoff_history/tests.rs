use serde_json::json;

use super::{nest_history, parse_summary};
use crate::{
    agent::HandoffInputData,
    wire::{Item, NewItem, NewItemKind},
};

fn item(kind: NewItemKind, raw: serde_json::Value) -> NewItem {
    NewItem { kind, agent: "A".to_owned(), raw: serde_json::from_value(raw).unwrap(), handoff: None, side_data: None }
}

#[test]
fn a_message_of_the_turn_stays_between_two_summaries() {
    let said = item(NewItemKind::MessageOutput, json!({"type": "message", "role": "assistant", "content": []}));
    let call = item(
        NewItemKind::HandoffCall,
        json!({"type": "function_call", "call_id": "h1", "name": "t", "arguments": "{}"}),
    );
    let data = HandoffInputData::new(vec![Item::user("q")], Vec::new(), vec![said.clone(), call]);
    let nested = nest_history(data);
    let texts: Vec<String> = nested.input_history.iter().filter_map(Item::text).collect();
    assert_eq!(
        texts,
        [
            "For context, here is the conversation so far between the user and the previous agent:\n\
             <CONVERSATION HISTORY>\n1. user: q\n</CONVERSATION HISTORY>",
            "",
            "For context, here is the conversation so far between the user and the previous agent:\n\
             <CONVERSATION HISTORY>\n\
             1. {\"type\": \"function_call\", \"call_id\": \"h1\", \"name\": \"t\", \"arguments\": \"{}\"}\n\
             </CONVERSATION HISTORY>",
        ]
    );
    assert_eq!((nested.forwarded.earlier, nested.forwarded.new), (vec![], vec![0]));
}

#[test]
fn a_summary_is_taken_apart_again() {
    let data = HandoffInputData::new(
        vec![Item::user("one line"), Item::user("two\nlines"), Item::message("user", "x").with("name", "Ann".into())],
        Vec::new(),
        Vec::new(),
    );
    let nested = nest_history(data.clone());
    assert_eq!(nested.input_history.len(), 1);
    assert_eq!(parse_summary(&nested.input_history[0]).unwrap(), data.input_history);
}

#[test]
fn an_empty_conversation_says_so() {
    let nested = nest_history(HandoffInputData::new(Vec::new(), Vec::new(), Vec::new()));
    assert!(nested.input_history[0].text().unwrap().contains("(no previous turns recorded)"));
    assert_eq!(parse_summary(&nested.input_history[0]).unwrap(), Vec::new());
}
