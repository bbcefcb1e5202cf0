use rstest::rstest;

use super::{AnthropicBuilder, AnthropicConfigError};
use crate::provider::ModelProvider;

fn variables(set: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
    move |name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
}

/// Returns a builder with a plain HTTP address, so that no certificates are needed.
fn builder() -> AnthropicBuilder {
    AnthropicBuilder::new().api_key("the-key").base_url("http://localhost:1")
}

#[rstest]
#[case("http://localhost:1")]
#[case("http://localhost:1/v1/")]
fn the_address_may_have_the_version(#[case] url: &str) {
    let anthropic = builder().base_url(url).build().expect("a complete builder");
    assert_eq!(
        format!("{anthropic:?}"),
        "Anthropic { transport: Transport { address: \"http://localhost:1/v1\", headers: [\"x-api-key\", \
         \"anthropic-version\"], .. }, .. }"
    );
}

#[test]
fn the_environment_describes_a_provider() {
    let set = &[("ANTHROPIC_API_KEY", " the-key\n"), ("ANTHROPIC_BASE_URL", "http://localhost:1")];
    let anthropic = AnthropicBuilder::from_variables(variables(set)).and_then(AnthropicBuilder::build);
    assert!(format!("{:?}", anthropic.expect("a complete environment")).contains("http://localhost:1/v1"));
}

#[test]
fn a_missing_key_is_told_from_an_empty_one() {
    let missing = AnthropicBuilder::from_variables(variables(&[])).expect_err("no key");
    assert!(missing.to_string().starts_with("ANTHROPIC_API_KEY is not set; "), "{missing}");
    let empty = AnthropicBuilder::from_variables(variables(&[("ANTHROPIC_API_KEY", " ")])).expect_err("no key");
    assert!(matches!(empty, AnthropicConfigError::KeyEmpty));
    let none = AnthropicBuilder::new().build().expect_err("no key");
    assert!(matches!(none, AnthropicConfigError::KeyEmpty));
}

#[test]
fn an_unusable_address_is_named_with_the_variable_that_holds_it() {
    let set = &[("ANTHROPIC_API_KEY", "the-key"), ("ANTHROPIC_BASE_URL", "/v1")];
    let error = AnthropicBuilder::from_variables(variables(set)).and_then(AnthropicBuilder::build);
    assert_eq!(
        error.expect_err("it is no whole address").to_string(),
        "the base URL \"/v1\" (ANTHROPIC_BASE_URL) cannot be used: relative URL without a base; write it in full, as \
         https://api.anthropic.com"
    );
    let error = builder().base_url("http://user:pass@localhost").build().expect_err("credentials").to_string();
    assert_eq!(error, "the base URL cannot be used: it contains credentials; set them as API key or header");
}

#[test]
fn debug_shows_no_secret() {
    let builder = builder().header("X-Gateway", "gateway-secret");
    let described = format!("{builder:?}");
    let shown = format!("{described} {:?}", builder.build().expect("a complete builder"));
    assert!(!shown.contains("the-key") && !shown.contains("gateway-secret"), "{shown}");
    assert!(shown.contains("X-Gateway") && shown.contains("x-gateway"), "{shown}");
}

#[tokio::test]
async fn names_of_claude_are_served() {
    let anthropic = builder().build().expect("a complete builder");
    for (name, served) in [
        ("claude-sonnet-4-6", true),
        ("anthropic::claude-sonnet-4-6", true),
        ("gpt-5", false),
        ("vertex::claude-sonnet-4-6", false),
    ] {
        assert_eq!(anthropic.model(name).await.expect("no failure").is_some(), served, "{name}");
    }
    let all = builder().serving(|_| true).name("gateway").build().expect("a complete builder");
    assert!(all.model("gpt-5").await.expect("no failure").is_some());
    assert_eq!(all.name(), Some("gateway"));
}
