use rstest::rstest;
use secrecy::SecretString;

use super::*;

#[rstest]
#[case::as_it_is("http://localhost:8080/v1", "http://localhost:8080/v1")]
#[case::without_a_user("https://ada:swordfish@gateway.example.com/v1/", "https://gateway.example.com/v1")]
#[case::without_a_query("https://gateway.example.com/v1?key=swordfish#top", "https://gateway.example.com/v1")]
#[case::without_a_secret_in_its_path(
    "https://gateway.example.com/swordfish/v1",
    "https://gateway.example.com/[redacted]/v1"
)]
#[case::of_nothing("not an address", "an invalid address")]
fn an_address_is_shown_without_what_may_be_secret(#[case] base: &str, #[case] expected: &str) {
    let redactor = Redactor::new(vec![SecretString::from("swordfish".to_owned())]);
    assert_eq!(shown(base, &redactor), expected);
}
