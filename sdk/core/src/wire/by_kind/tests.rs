use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::wire::{Definitions, InputSegment, Item, ToolOutput, conversation::CallPart, definitions::DefinitionsPart};

/// Returns the result of reading the JSON, after checking that it is the same from a string and
/// from a value, with the members in this order and in reverse order.
fn read<T: DeserializeOwned + PartialEq + std::fmt::Debug>(json: &Value) -> Result<T, String> {
    let turned = match json {
        Value::Object(members) => Value::Object(members.clone().into_iter().rev().collect()),
        other => other.clone(),
    };
    let [first, rest @ ..] = [json, &turned].map(|json| {
        let read = serde_json::from_value::<T>(json.clone()).map_err(|error| error.to_string());
        let of_text = serde_json::from_str::<T>(&json.to_string()).map_err(|error| error.to_string());
        match (&read, &of_text) {
            (Ok(read), Ok(of_text)) => assert_eq!(read, of_text, "{json}"),
            (Err(_), Err(_)) => {}
            _ => panic!("{json} is read as {read:?} from a value, and as {of_text:?} from a text"),
        }
        read
    });
    for other in rest {
        assert_eq!(first.as_ref().ok(), other.as_ref().ok(), "{json}");
    }
    first
}

#[test]
fn segments_of_each_kind_are_read_in_any_order() {
    let user = json!({"role": "user", "content": "a \"quoted\" text \u{e9}"});
    let items = vec![Item::try_from(user.clone()).expect("an item")];
    assert_eq!(read(&json!({"kind": "items", "items": [user]})), Ok(InputSegment::Items { items }));
    let call = |part| InputSegment::Call { activity_id: "a-1-model".to_owned(), part, start: 0, end: 2, results: 0 };
    assert_eq!(read(&json!({"kind": "call", "activity_id": "a-1-model", "end": 2})), Ok(call(None)));
    let answered =
        json!({"kind": "call", "activity_id": "a-1-model", "part": "answered", "start": 0, "end": 2, "new": {}});
    assert_eq!(read(&answered), Ok(call(Some(CallPart::Answered))));
    assert_eq!(
        read(&json!({"kind": "tool_result", "activity_id": "a-1-tool-0"})),
        Ok(InputSegment::ToolResult { activity_id: "a-1-tool-0".to_owned() })
    );
}

#[test]
fn what_is_not_known_is_kept_by_its_name_whatever_else_it_has() {
    let unknown = |name: &str| Ok(InputSegment::Unknown(name.to_owned()));
    assert_eq!(read(&json!({"kind": "blob", "of": {"kind": "items", "items": [1, [2]]}})), unknown("blob"));
    assert_eq!(read(&json!({"kind": "call", "activity_id": "a", "part": "thought"})), unknown("call part thought"));
    assert_eq!(read(&json!({"kind": "call", "part": "thought", "start": "x"})), unknown("call part thought"));
    assert_eq!(read(&json!({"kind": "link", "to": []})), Ok(DefinitionsPart::Unknown("link".to_owned())));
}

#[test]
fn a_member_that_is_missing_or_wrong_is_named() {
    let error = |json: Value| read::<InputSegment>(&json).expect_err("it is malformed");
    assert!(error(json!({"activity_id": "a"})).contains("missing field `kind`"));
    assert!(error(json!({})).contains("missing field `kind`"));
    assert!(error(json!({"kind": "call", "activity_id": "a"})).contains("missing field `end`"));
    assert!(error(json!({"kind": "call", "end": 1})).contains("missing field `activity_id`"));
    assert!(error(json!({"kind": "call", "activity_id": "a", "end": -1})).contains("invalid value: integer `-1`"));
    assert!(error(json!({"kind": "call", "activity_id": 7, "end": 1})).contains("invalid type: integer `7`"));
    assert!(error(json!("call")).contains("an object with a kind"));
}

#[test]
fn definitions_are_read_as_they_were_meant_or_not_at_all() {
    let definitions = Definitions { instructions: Some("Be \"brief\".".to_owned()), ..Definitions::default() };
    let part = DefinitionsPart::inline(definitions);
    let mut json = json!(part);
    assert_eq!(read(&json), Ok(part));
    json["definitions"]["instructions"] = json!("Be long.");
    assert!(read::<DefinitionsPart>(&json).expect_err("another text").contains("do not match their digest"));
}

#[test]
fn an_output_is_a_text_or_a_list_of_parts() {
    assert_eq!(read(&json!("sunny \n\u{2600}")), Ok(ToolOutput::Text("sunny \n\u{2600}".to_owned())));
    assert_eq!(read(&json!([])), Ok(ToolOutput::Content(Vec::new())));
    let part = json!({"type": "input_text", "text": "sunny"});
    assert_eq!(read(&json!([part])), Ok(ToolOutput::Content(vec![part])));
    for json in [json!({"text": "sunny"}), json!(null), json!(1)] {
        assert!(read::<ToolOutput>(&json).expect_err("no output").contains("a string or a list of content parts"));
    }
}
