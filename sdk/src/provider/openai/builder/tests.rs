//! Tests of the values that the environment and the builder accept, and of the errors for others.

use rstest::rstest;

use super::{Azure, OpenAiBuilder, OpenAiConfigError};

fn variables(set: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
    move |name| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
}

/// Returns a builder with a plain HTTP address, so that no certificates are needed.
fn builder() -> OpenAiBuilder {
    OpenAiBuilder::new().api_key("the-key").base_url("http://localhost:1/v1/")
}

#[test]
fn the_environment_describes_a_provider() {
    let builder = OpenAiBuilder::from_variables(variables(&[
        ("OPENAI_API_KEY", " the-key\n"),
        ("OPENAI_BASE_URL", "http://localhost:1/v1"),
        ("OPENAI_ORG_ID", "org"),
        ("OPENAI_PROJECT_ID", ""),
    ]));
    let openai = builder.and_then(OpenAiBuilder::build).expect("a complete environment");
    assert_eq!(
        format!("{openai:?}"),
        "OpenAi { endpoint: Endpoint { transport: Transport { address: \"http://localhost:1/v1\", \
         headers: [\"authorization\", \"openai-organization\"], .. }, azure: None }, api: Responses, .. }"
    );
}

#[test]
fn a_missing_key_is_told_from_an_empty_one() {
    let missing = OpenAiBuilder::from_variables(variables(&[])).expect_err("no key");
    assert!(matches!(missing, OpenAiConfigError::KeyNotSet));
    assert!(missing.to_string().starts_with("OPENAI_API_KEY is not set; "), "{missing}");
    let empty = OpenAiBuilder::from_variables(variables(&[("OPENAI_API_KEY", " ")])).expect_err("no key");
    assert!(matches!(empty, OpenAiConfigError::KeyEmpty));
    let none = OpenAiBuilder::new().build().expect_err("no key");
    assert!(matches!(none, OpenAiConfigError::KeyEmpty));
}

#[rstest]
#[case("localhost:1", "starts with neither")]
#[case("/v1", "relative URL")]
#[case("http://localhost/v1?api-version=1", "has a query")]
#[case("http://user:pass@localhost/v1", "contains credentials")]
fn an_unusable_address_is_refused(#[case] url: &str, #[case] reason: &str) {
    let error = builder().base_url(url).build().expect_err("an unusable address").to_string();
    assert!(error.contains(reason), "{error}");
    assert!(!error.contains("pass"), "{error}");
}

#[test]
fn an_unusable_address_is_named_with_the_variable_that_holds_it() {
    let environment = variables(&[("OPENAI_API_KEY", "the-key"), ("OPENAI_BASE_URL", "/v1")]);
    let of_environment = OpenAiBuilder::from_variables(environment).and_then(OpenAiBuilder::build);
    assert_eq!(
        of_environment.expect_err("it is no whole address").to_string(),
        "the base URL \"/v1\" (OPENAI_BASE_URL) cannot be used: relative URL without a base; write it in full, as \
         https://api.openai.com/v1"
    );
    let of_program = builder().base_url("localhost:1").build().expect_err("it has no scheme").to_string();
    assert_eq!(
        of_program,
        "the base URL \"localhost:1\" cannot be used: it starts with neither https:// nor http://; write it in full, as \
         https://api.openai.com/v1"
    );
}

#[test]
fn one_address_is_enough() {
    let error = builder().azure(Azure::new("http://localhost:1", "2025-04-01-preview")).build().expect_err("two");
    assert!(error.to_string().contains("Azure"), "{error}");
}

#[test]
fn a_key_that_is_no_header_is_refused_without_showing_it() {
    let error = builder().api_key("the\nkey").build().expect_err("a broken key");
    assert_eq!(error.to_string(), "the header \"authorization\" contains characters that are invalid in HTTP");
}

#[test]
fn debug_shows_no_secret() {
    let builder = builder().header("X-Gateway", "gateway-secret").organization("org");
    let described = format!("{builder:?}");
    let shown = format!("{described} {:?}", builder.build().expect("a complete builder"));
    assert!(!shown.contains("the-key") && !shown.contains("gateway-secret"), "{shown}");
    assert!(shown.contains("X-Gateway") && shown.contains("x-gateway"), "{shown}");
}
