use super::*;

fn cut(output: impl Into<ToolOutput>, limit: usize) -> ToolOutput {
    let cut = truncated(output.into(), limit);
    assert!(encoded_len(&cut).expect("it is JSON") <= limit, "{cut:?}");
    cut
}

#[test]
fn a_text_is_cut_between_two_characters_and_says_how_much_is_gone() {
    let text = "\u{fc}\"\n\u{1}".repeat(100);
    let expected = format!("{}\n[truncated: 460 of 500 bytes are left out]", "\u{fc}\"\n\u{1}".repeat(8));
    assert_eq!(cut(text.clone(), MARKER + 8 * 12), ToolOutput::Text(expected));
    let expected = format!("{}\u{fc}\n[truncated: 458 of 500 bytes are left out]", "\u{fc}\"\n\u{1}".repeat(8));
    assert_eq!(cut(text, MARKER + 8 * 12 + 3), ToolOutput::Text(expected));
}

#[test]
fn parts_are_kept_whole_and_the_first_that_does_not_fit_is_cut() {
    let part = |text: &str| json!({"type": "input_text", "text": text});
    let parts = vec![part("short"), part(&"long ".repeat(100)), part("late")];
    let ToolOutput::Content(parts) = cut(ToolOutput::Content(parts), MARKER + 100) else { panic!("parts") };
    let markers = "[truncated: 467 of 500 bytes of this part are left out]\n[truncated: 1 of 3 parts are left out]";
    assert_eq!(parts, [part("short"), part("long long long long long long lon"), part(markers)]);
}

#[test]
fn a_part_that_is_no_text_is_left_out() {
    let image = json!({"type": "input_image", "image_url": "x".repeat(500)});
    let cut = cut(ToolOutput::Content(vec![image]), MARKER + 100);
    let marker = json!({"type": "input_text", "text": "[truncated: 1 of 1 parts are left out]"});
    assert_eq!(cut, ToolOutput::Content(vec![marker]));
}

#[test]
fn what_is_too_large_is_named_with_both_sizes() {
    let limit = OutputLimit::default();
    let too_large = limit.fit("read", ToolOutput::Text("x".repeat(3_145_726))).expect_err("it is too large");
    assert_eq!(too_large.to_string(), "tool \"read\" returned 3.14 MB, the limit is 2.00 MB");
    assert_eq!(limit.fit("read", "fits".into()), Ok("fits".into()));
}
