use rstest::rstest;
use temporal_agents_core::wire::{AgentRequest, ChatRequest, Item, RequestInput};
use temporalio_common::search_attributes::SearchAttributeKey;

use super::NewRun;

fn new_run() -> NewRun {
    NewRun::new(AgentRequest::new("desk", "hello"))
}

#[rstest]
#[case::reserved_memo(new_run().memo("agents.run_note", 1), "begins with \"agents.\"")]
#[case::large_memo(new_run().memo("note", "x".repeat(20_000)), "at most 16384 bytes")]
#[case::unwritable_memo(new_run().memo("note", std::collections::BTreeMap::from([([1], 1)])), "cannot be written")]
#[case::long_label(new_run().label("customer", "x".repeat(257)), "at most 16 labels")]
#[case::two_lines(new_run().summary("two\nlines"), "one line")]
#[case::division(
    new_run().search_attribute(SearchAttributeKey::keyword("TemporalNamespaceDivision").value_set("x".to_owned())),
    "Temporal's own"
)]
fn values_that_would_hide_or_break_a_run_are_refused(#[case] run: NewRun, #[case] expected: &str) {
    let problem = run.check().expect_err("it is refused");
    assert!(problem.contains(expected), "{problem}");
}

#[rstest]
#[case::input(new_run(), Some("hello"))]
#[case::summary(new_run().summary("Kitchen of Ada"), Some("Kitchen of Ada"))]
#[case::first_line(NewRun::new(AgentRequest::new("desk", "\n  Where is it?\r\nPlease.")), Some("Where is it?"))]
#[case::nothing(NewRun::new(AgentRequest::new("desk", " \n ")), None)]
#[case::chat(NewRun::chat(ChatRequest::new("desk")), None)]
#[case::message(NewRun::chat(ChatRequest::new("desk")).first_message("Hi.\nIt is me."), Some("Hi."))]
fn a_title_is_the_summary_or_the_first_line(#[case] run: NewRun, #[case] expected: Option<&str>) {
    assert_eq!(run.title().as_deref(), expected);
}

#[test]
fn a_title_is_that_of_the_first_message_of_the_user_and_short() {
    let items = vec![Item::message("system", "You are a desk."), Item::user("é".repeat(200))];
    let request = AgentRequest { input: RequestInput::Items(items), ..AgentRequest::new("desk", "") };
    assert_eq!(NewRun::new(request).title(), Some("é".repeat(120)));
}

#[test]
fn a_search_attribute_has_the_value_that_was_set_last() {
    const CUSTOMER: SearchAttributeKey<String> = SearchAttributeKey::keyword("CustomerId");
    let run = new_run().search_attribute(CUSTOMER.value_set("1".to_owned()));
    let run = run.search_attribute(CUSTOMER.value_set("2".to_owned()));
    assert_eq!(run.search_attributes().and_then(|attributes| attributes.get(&CUSTOMER)).as_deref(), Some("2"));
    assert!(run.search_attribute(CUSTOMER.value_unset()).search_attributes().is_none());
}

#[cfg(feature = "http")]
#[test]
fn a_typed_value_of_json_is_that_of_a_typed_key() {
    use super::TypedAttribute;
    const AMOUNT: SearchAttributeKey<i64> = SearchAttributeKey::int("Amount");

    let typed: TypedAttribute = serde_json::from_str(r#"{"int": 40}"#).unwrap();
    let run = new_run().typed_attribute("Amount".to_owned(), &typed);
    let typed = new_run().search_attribute(AMOUNT.value_set(40));
    assert_eq!(run.search_attributes(), typed.search_attributes());
    assert!(serde_json::from_str::<TypedAttribute>(r#"{"integer": 40}"#).is_err());
}
