use serde_json::json;

use super::*;

fn tool() -> ToolDef {
    ToolDef::inline("list", "Lists.", |_ctx, _: Value| Ok("[]".into())).bounded()
}

fn told(outcome: Result<ToolOutput, ToolError>) -> String {
    match outcome {
        Ok(output) => output.to_text(),
        Err(error) => format!("failed: {error}"),
    }
}

#[test]
fn a_model_reads_the_bounds_of_an_output() {
    let part = Bounds::part(2).of(9).next_cursor("c2");
    let cases = [
        (r#"{"files":["a","b"]}"#, r#"{"files":["a","b"],"returned":2,"total":9,"truncated":true,"next_cursor":"c2"}"#),
        (r#"["a","b"]"#, r#"{"result":["a","b"],"returned":2,"total":9,"truncated":true,"next_cursor":"c2"}"#),
        ("two files", r#"{"result":"two files","returned":2,"total":9,"truncated":true,"next_cursor":"c2"}"#),
    ];
    for (output, expected) in cases {
        let told = told(bounded(&tool(), output.into(), Some(&part)));
        let (told, expected): (Value, Value) =
            (serde_json::from_str(&told).unwrap(), serde_json::from_str(expected).unwrap());
        assert_eq!(told, expected, "{output}");
    }
}

#[test]
fn bounds_of_content_are_a_part_of_their_own() {
    let parts = ToolOutput::Content(vec![json!({"type": "input_image", "image_url": "data:,"})]);
    let ToolOutput::Content(parts) = bounded(&tool(), parts, Some(&Bounds::complete(1))).unwrap() else {
        panic!("content stays content")
    };
    assert_eq!(parts[1], json!({"type": "input_text", "text": r#"{"returned":1,"total":1,"truncated":false}"#}));
}

#[test]
fn a_bounded_tool_fails_without_a_way_to_the_rest() {
    let cases = [
        (None, "failed: Tool 'list' has run, but its result does not state its bounds."),
        (
            Some(Bounds::part(1)),
            "failed: Tool 'list' has run, but its result is truncated, without a cursor or a hint.",
        ),
    ];
    for (bounds, expected) in cases {
        assert_eq!(told(bounded(&tool(), "x".into(), bounds.as_ref())), expected);
    }
}

#[test]
fn the_output_of_any_other_tool_is_not_changed() {
    let plain = ToolDef::inline("list", "Lists.", |_ctx, _: Value| Ok("[]".into()));
    assert_eq!(told(bounded(&plain, "x".into(), Some(&Bounds::part(1)))), "x");
}
