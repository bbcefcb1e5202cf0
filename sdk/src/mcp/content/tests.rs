use serde_json::json;

use super::output;
use crate::wire::ToolOutput;

#[test]
fn texts_are_one_text() {
    let blocks = vec![json!({"type": "text", "text": "one"}), json!({"type": "text", "text": "two"})];
    assert_eq!(output(blocks, None), ToolOutput::Text("one\ntwo".to_owned()));
}

#[test]
fn nothing_is_an_empty_text() {
    assert_eq!(output(Vec::new(), None), ToolOutput::Text(String::new()));
}

#[test]
fn an_image_makes_parts_of_all_blocks() {
    let blocks = vec![
        json!({"type": "text", "text": "a cat"}),
        json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
        json!({"type": "resource_link", "uri": "file:///cat.txt", "name": "cat"}),
    ];
    let expected = vec![
        json!({"type": "input_text", "text": "a cat"}),
        json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="}),
        json!({
            "type": "input_text",
            "text": r#"{"type":"resource_link","uri":"file:///cat.txt","name":"cat"}"#,
        }),
    ];
    assert_eq!(output(blocks, None), ToolOutput::Content(expected));
}

#[test]
fn structured_content_stands_for_all() {
    let blocks = vec![json!({"type": "text", "text": "12 degrees"})];
    assert_eq!(output(blocks, Some(json!({"degrees": 12}))), ToolOutput::Text(r#"{"degrees":12}"#.to_owned()));
}
