//! Responses without calls: the final answer, or another turn.

use rstest::rstest;

use super::*;

fn hosted(kind: &str) -> Item {
    item(json!({"type": kind, "id": "hc_1", "status": "completed"}))
}

#[rstest]
#[case::one_message(vec![message("hello")], "hello")]
#[case::the_last_of_several(vec![message("one"), message("two")], "two")]
#[case::nothing(vec![], "")]
#[case::an_empty_message(vec![message("")], "")]
#[case::an_unknown_kind_alone(vec![item(json!({"type": "hologram", "beam": 1}))], "")]
#[case::a_hosted_call_beside_a_message(vec![hosted("web_search_call"), message("found")], "found")]
#[case::a_message_before_a_hosted_call(vec![message("found"), hosted("web_search_call")], "found")]
#[case::a_message_of_several_parts(
    vec![item(json!({"role": "assistant", "content": [
        {"type": "output_text", "text": "a"},
        {"type": "output_audio", "data": "?"},
        {"type": "output_text", "text": "b"},
    ]}))],
    "ab"
)]
fn a_response_that_asks_for_nothing_is_the_final_answer(#[case] output: Vec<Item>, #[case] answer: &str) {
    let mut run = ByHand::start();
    run.turn(setup(), output.clone()).unwrap();
    assert_eq!(run.output(), answer);
    assert_eq!(run.raw_items(), output, "every item of the response is kept");
}

#[rstest]
#[case("file_search_call")]
#[case("web_search_call")]
#[case("code_interpreter_call")]
#[case("image_generation_call")]
#[case("mcp_call")]
fn a_hosted_call_without_a_message_runs_the_model_again(#[case] kind: &str) {
    let mut run = ByHand::start();
    run.turn(setup(), vec![hosted(kind)]).unwrap();
    assert_eq!(run.next(), turn_due("triage", 2));
    assert_eq!(run.prepare(setup()).input, [Item::user("hi"), hosted(kind)]);
    assert_eq!(run.transcript(), [format!("triage: tool_call_item {kind}")]);
}

#[test]
fn items_are_sorted_by_what_they_are() {
    let mut run = ByHand::start();
    let kinds = ["reasoning", "mcp_list_tools", "compaction", "web_search_call", "hologram"];
    let mut output: Vec<Item> = kinds.iter().map(|kind| item(json!({"type": kind}))).collect();
    output.extend([item(json!({"no": "type"})), message("done")]);
    run.turn(setup(), output).unwrap();
    assert_eq!(
        run.transcript(),
        [
            "triage: reasoning_item reasoning",
            "triage: mcp_list_tools_item mcp_list_tools",
            "triage: compaction_item compaction",
            "triage: tool_call_item web_search_call",
            "triage: unknown_item hologram",
            "triage: unknown_item ",
            "triage: message_output_item done",
        ]
    );
}

#[rstest]
#[case::shell("shell_call", "Model produced shell call without a shell tool.")]
#[case::local_shell("local_shell_call", "Model produced local shell call without a local shell tool.")]
#[case::computer("computer_call", "Model produced computer action without a computer tool.")]
#[case::patch("apply_patch_call", "Model produced apply_patch call without an apply_patch tool.")]
#[case::custom("custom_tool_call", "Model produced custom tool call without a custom tool.")]
fn a_native_call_needs_its_tool(#[case] kind: &str, #[case] complaint: &str) {
    let error = ByHand::start().turn(setup(), vec![item(json!({"type": kind}))]).unwrap_err();
    assert_eq!(error.to_string(), format!("{complaint} (model behaviour, agent \"triage\", turn 1)"));
}

#[test]
fn a_native_call_of_a_tool_the_provider_runs_is_a_hosted_call() {
    let mut with_shell = setup();
    let config = json!({"type": "shell", "environment": {"type": "container_auto"}}).as_object().cloned().unwrap();
    with_shell.definitions.tools.push(ToolSpec::Hosted { name: "shell".to_owned(), config });
    let mut run = ByHand::start();
    run.turn(with_shell, vec![item(json!({"type": "shell_call"}))]).unwrap();
    assert_eq!(run.transcript(), ["triage: tool_call_item shell_call"]);
}

#[test]
fn unknown_kinds_and_members_go_back_to_the_model_byte_for_byte() {
    let odd = [
        r#"{"type":"hologram","z":{"b":1,"a":[null,1.5,"é"]},"id":"h1"}"#,
        r#"{"zeta":0,"type":"function_call","call_id":"c1","name":"weather","arguments":"{ }","caller":{"type":"direct"}}"#,
        r#"{"type":"reasoning","encrypted_content":"b64==","summary":[],"new_member":true}"#,
    ];
    let mut run = ByHand::start();
    run.turn(setup(), odd.iter().map(|json| serde_json::from_str(json).unwrap()).collect()).unwrap();
    run.tools_return(&["sunny"]);
    let sent: Vec<String> =
        run.prepare(setup()).input.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
    assert_eq!(
        sent,
        [
            r#"{"role":"user","content":"hi"}"#,
            odd[0],
            odd[1],
            odd[2],
            r#"{"type":"function_call_output","call_id":"c1","output":"sunny"}"#,
        ]
    );
}

#[test]
fn a_refusal_ends_the_run_unless_a_handler_takes_it() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![refusal("not this")]).unwrap();
    let error = Recoverable::ModelRefusal { refusal: "not this".to_owned() };
    assert_eq!(run.next(), Step::HandleError { agent: "triage".to_owned(), error });
    assert_eq!(run.transcript(), ["triage: message_output_item "], "a handler sees it");
    let error = run.resolve(Resolution::Handled(None)).unwrap_err();
    assert_eq!(error.to_string(), r#"Model refused to produce output: not this (agent "triage")"#);
}

#[test]
fn a_refusal_before_the_last_message_does_not_end_the_run() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![refusal("not this"), message("but this")]).unwrap();
    assert_eq!(run.output(), "but this");
}

#[test]
fn usage_is_summed_over_the_turns_and_counts_for_refused_responses() {
    let mut run = ByHand::start();
    run.turn(setup(), vec![call("c1", "weather", "{}")]).unwrap();
    run.tools_return(&["sunny"]);
    run.turn(setup(), vec![call("c2", "nonsense", "{}")]).unwrap_err();
    let mut both = Usage::of_tokens(2, 1);
    both.add(&Usage::of_tokens(2, 1));
    assert_eq!(run.engine.state().usage, both);
    assert_eq!(run.engine.state().usage.requests, 2);
}

#[test]
fn the_last_response_id_is_kept() {
    let mut run = ByHand::start();
    run.prepare(setup());
    let answer = ModelResponse { response_id: Some("resp_1".to_owned()), ..response(vec![message("hello")]) };
    run.resolve(Resolution::Answered(answer)).unwrap();
    assert_eq!(run.engine.into_state().last_response_id.as_deref(), Some("resp_1"));
}

#[test]
#[should_panic(expected = "the driver resolved TurnDue with HandedOff")]
fn a_resolution_of_another_step_is_a_bug_of_the_driver() {
    let _ = ByHand::start().engine.resolve(Resolution::HandedOff);
}
