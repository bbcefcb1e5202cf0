use rstest::rstest;
use serde::Serialize;
use serde_json::{Value, json};
use temporal_agents_core::wire::ToolOutput;

use super::ResultContent;

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Value> {
    texts.iter().map(|text| json!({"type": "text", "text": text})).collect()
}

fn text_output(text: &str) -> ToolOutput {
    ToolOutput::Text(text.to_owned())
}

fn result_content(blocks: &[impl Serialize], structured: Option<Value>) -> ResultContent {
    ResultContent::new(blocks, structured).expect("blocks are JSON")
}

#[test]
fn texts_are_one_text() {
    assert_eq!(result_content(&texts(["one", "two"]), None).output(false), text_output("one\ntwo"));
}

#[test]
fn space_beside_a_text_is_kept() {
    assert_eq!(result_content(&texts(["", " one\n"]), None).output(false), text_output("\n one\n"));
}

#[rstest]
#[case::no_block(texts([]))]
#[case::an_empty_text(texts([""]))]
#[case::several_blank_texts(texts([" ", "\n\t", "\u{a0}"]))]
fn a_result_without_text_is_told_as_json_or_a_sentence(
    #[case] blocks: Vec<Value>,
    #[values(false, true)] prefers_structured: bool,
) {
    let content = |structured| result_content(&blocks, structured);
    let degrees = json!({"degrees": 22});
    assert_eq!(content(Some(degrees.clone())).output(prefers_structured), text_output(r#"{"degrees":22}"#));
    assert_eq!(content(Some(degrees)).error(), text_output(r#"{"degrees":22}"#));
    for nothing in [None, Some(Value::Null)] {
        assert_eq!(content(nothing.clone()).output(prefers_structured), text_output("The tool returned no content."));
        assert_eq!(content(nothing).error(), text_output("The tool failed without giving a reason."));
    }
}

#[rstest]
#[case::object(json!({}), "{}")]
#[case::list(json!([]), "[]")]
#[case::number(json!(0), "0")]
#[case::text(json!(""), r#""""#)]
fn empty_structured_content_is_told_as_its_json(#[case] structured: Value, #[case] json: &str) {
    assert_eq!(result_content(&texts([]), Some(structured)).output(false), text_output(json));
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
    assert_eq!(result_content(&blocks, None).output(false), ToolOutput::Content(expected));
}

#[rstest]
#[case::audio(json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}))]
#[case::resource(json!({"type": "resource", "resource": {"uri": "file:///a.txt", "text": ""}}))]
#[case::unknown(json!({"type": "hologram", "text": ""}))]
#[case::text_without_a_text(json!({"type": "text"}))]
fn other_blocks_go_before_structured_content(#[case] block: Value) {
    let content = || result_content(&[&block], Some(json!({"degrees": 22})));
    let parts = ToolOutput::Content(vec![json!({"type": "input_text", "text": block.to_string()})]);
    assert_eq!(content().output(false), parts);
    assert_eq!(content().error(), parts);
    assert_eq!(content().output(true), text_output(r#"{"degrees":22}"#));
}

#[test]
fn preferred_structured_content_replaces_all_blocks() {
    let content = || result_content(&texts(["12 degrees"]), Some(json!({"degrees": 12})));
    assert_eq!(content().output(true), text_output(r#"{"degrees":12}"#));
    assert_eq!(content().output(false), text_output("12 degrees"));
    assert_eq!(content().error(), text_output("12 degrees"));
}
