use rstest::rstest;

use super::*;

/// Returns the members that a setting becomes for a model, with the reason that it is not followed.
fn written(model: &str, setting: Value, max_tokens: u64) -> (Value, Option<&'static str>) {
    let (mut body, mut output_config) = (Map::new(), Map::new());
    let reasoning = Reasoning::from_setting("anthropic", Some(setting)).expect("a setting of the API");
    let reason = reasoning.write(&ModelTraits::from_name(model), max_tokens, &mut body, &mut output_config);
    body.extend(output_config);
    (Value::Object(body), reason)
}

#[rstest]
#[case("claude-opus-4-8", json!({"effort": "xhigh", "summary": "auto"}),
    json!({"thinking": {"type": "adaptive", "display": "summarized"}, "effort": "xhigh"}))]
#[case("claude-sonnet-4-6", json!({"effort": "xhigh"}), json!({"thinking": {"type": "adaptive"}, "effort": "high"}))]
#[case("claude-sonnet-4-6", json!({"effort": "max"}), json!({"thinking": {"type": "adaptive"}, "effort": "max"}))]
#[case("claude-sonnet-4-6", json!({"budget_tokens": 2000}),
    json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}))]
#[case::the_effort_is_enough("claude-opus-4-5", json!({"effort": "minimal"}), json!({"effort": "low"}))]
#[case("claude-opus-4-5", json!({"budget_tokens": 2000}),
    json!({"thinking": {"type": "enabled", "budget_tokens": 2000}}))]
#[case("claude-sonnet-4-5", json!({"effort": "low"}), json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}))]
#[case("claude-sonnet-4-5", json!({"effort": "max"}), json!({"thinking": {"type": "enabled", "budget_tokens": 24_000}}))]
#[case("claude-sonnet-4-5", json!({"effort": "none"}), json!({}))]
#[case("claude-opus-5", json!({"effort": "none"}), json!({"thinking": {"type": "disabled"}}))]
#[case::it_cannot_be_told("claude-opus-5-5", json!({"effort": "none"}), json!({}))]
#[case("claude-opus-4-8", json!({"summary": "auto"}), json!({}))]
fn a_model_is_told_to_think_in_its_form(#[case] model: &str, #[case] setting: Value, #[case] members: Value) {
    assert_eq!(written(model, setting, 64_000), (members, None));
}

#[test]
fn what_a_model_does_not_take_is_reported() {
    let budget = json!({"budget_tokens": 2000});
    assert_eq!(
        written("claude-opus-4-8", budget, 64_000),
        (json!({"thinking": {"type": "adaptive"}}), Some(NO_BUDGET))
    );
    let high = json!({"effort": "high"});
    let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 1500}});
    assert_eq!(written("claude-haiku-4-5", high.clone(), 2_000), (enabled, None));
    assert_eq!(written("claude-haiku-4-5", high, 1_000), (json!({}), Some(NO_ROOM)));
}

#[rstest]
#[case("claude-opus-4-5-high", "claude-opus-4-5", Some("high"))]
#[case("claude-opus-4-5-none", "claude-opus-4-5", Some("none"))]
#[case("claude-opus-4-5", "claude-opus-4-5", None)]
fn a_name_may_end_in_an_effort(#[case] name: &str, #[case] model: &str, #[case] effort: Option<&str>) {
    assert_eq!(split_effort(name), (model, effort));
}

#[test]
fn the_effort_of_the_settings_has_priority() {
    assert_eq!(with_effort(None, "high"), json!({"effort": "high"}));
    assert_eq!(with_effort(Some(json!({"summary": "auto"})), "high"), json!({"summary": "auto", "effort": "high"}));
    for setting in [json!({"effort": "low"}), json!({"budget_tokens": 2000})] {
        assert_eq!(with_effort(Some(setting.clone()), "high"), setting);
    }
}

/// Messages in short: `u` user, `r` results, `t` thinking and a call, `c` a call, `s` a text.
fn messages(short: &str) -> Vec<Value> {
    let assistant = |kinds: &[&str]| {
        let blocks: Vec<Value> = kinds.iter().map(|kind| json!({"type": kind})).collect();
        json!({"role": "assistant", "content": blocks})
    };
    let message = |letter| match letter {
        'u' => json!({"role": "user", "content": "hi"}),
        'r' => json!({"role": "user", "content": [{"type": "tool_result"}]}),
        't' => assistant(&["thinking", "tool_use"]),
        'd' => assistant(&["redacted_thinking", "tool_use"]),
        'c' => assistant(&["text", "tool_use"]),
        _ => json!({"role": "assistant", "content": "hm"}),
    };
    short.chars().map(message).collect()
}

#[rstest]
#[case("u", true)]
#[case("utr", true)]
#[case("udr", true)]
#[case::later_calls_need_none("utrcr", true)]
#[case::the_turn_is_over("ucrsu", true)]
#[case::nothing_was_called("us", true)]
#[case("ucr", false)]
#[case::it_began_without("ucrtr", false)]
#[case::the_users_text_is_in_the_turn("ucru", false)]
#[case("usucr", false)]
fn a_turn_without_thinking_continues_without(#[case] short: &str, #[case] is_kept: bool) {
    for (kind, is_kept) in [("enabled", is_kept), ("adaptive", true)] {
        let mut body = Map::new();
        body.insert("thinking".to_owned(), json!({"type": kind}));
        body.insert("messages".to_owned(), messages(short).into());
        assert_eq!(leave_out_in_turn_without(&mut body), !is_kept, "{short}");
        assert_eq!(body.contains_key("thinking"), is_kept, "{short}");
    }
}
