use rstest::rstest;
use temporalio_common::search_attributes::SearchAttributeKey;

use super::NewRun;
use crate::wire::AgentRequest;

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
