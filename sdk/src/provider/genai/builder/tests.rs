//! Tests that errors of a configuration are found when it is built.

use rstest::rstest;

use super::{GenaiBuilder, GenaiConfigError};

fn refusal(builder: GenaiBuilder) -> GenaiConfigError {
    builder.build().expect_err("a configuration that cannot be used")
}

#[test]
fn an_adapter_that_is_not_there_is_named_with_those_that_are() {
    let error = refusal(GenaiBuilder::new().api_key("antropic", "k")).to_string();
    assert!(error.starts_with("genai has no adapter `antropic`; the adapters are openai, "), "{error}");
    assert!(error.contains(", anthropic, "), "{error}");
}

#[rstest]
#[case("localhost:1", " \"localhost:1\"", "it starts with neither https:// nor http://")]
#[case("http://localhost/?a=b", "", "it has a query or a fragment")]
#[case("http://user:secret@localhost/", "", "it contains credentials; set them as API key")]
fn an_address_that_cannot_be_used_says_why(#[case] url: &str, #[case] shown: &str, #[case] reason: &str) {
    let error = refusal(GenaiBuilder::new().base_url("anthropic", url));
    assert_eq!(error.to_string(), format!("the base URL{shown} of `anthropic` cannot be used: {reason}"));
}

#[test]
fn an_empty_key_is_none() {
    let error = refusal(GenaiBuilder::new().base_url("anthropic", "http://localhost:1").api_key("anthropic", " "));
    assert_eq!(
        error.to_string(),
        "the API key of `anthropic` is empty (any value works for a server that does not check it)"
    );
}

#[test]
fn debug_shows_no_key() {
    let builder = GenaiBuilder::new().base_url("anthropic", "http://localhost:1").api_key("anthropic", "the-secret");
    let shown = format!("{builder:?}");
    assert!(shown.contains("anthropic") && !shown.contains("the-secret"), "{shown}");
    let shown = format!("{:?}", builder.build().expect("a complete configuration"));
    assert!(!shown.contains("the-secret"), "{shown}");
}
