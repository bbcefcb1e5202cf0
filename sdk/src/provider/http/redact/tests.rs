//! Tests of the redaction of known secrets, and of strings that look like keys.

use super::Redactor;

fn redactor(secrets: &[&str]) -> Redactor {
    Redactor::new(secrets.iter().map(|secret| (*secret).into()).collect())
}

#[test]
fn known_secrets_are_removed_wherever_they_stand() {
    let redactor = redactor(&["abc123", "abc123-longer", ""]);
    assert_eq!(redactor.clean("key=abc123-longer;abc123."), "key=[redacted];[redacted].");
}

#[test]
fn what_looks_like_a_key_is_removed() {
    let redactor = redactor(&[]);
    assert_eq!(
        redactor.clean("Incorrect API key provided: sk-proj-a***********Z9_x. You can"),
        "Incorrect API key provided: [redacted]. You can"
    );
    assert_eq!(redactor.clean("sk-123456"), "[redacted]");
}

#[test]
fn words_that_contain_the_prefix_stay() {
    let redactor = redactor(&[]);
    for text in ["a risk-based task-list", "keys start with sk-", "desk-sk", "sk-a"] {
        assert_eq!(redactor.clean(text), text);
    }
}

#[test]
fn an_excerpt_is_one_line_of_the_asked_length() {
    let redactor = redactor(&["secret"]);
    assert_eq!(redactor.excerpt("<html>\r\n\t<b>secret</b>", 200), "<html> <b>[redacted]</b>");
    assert_eq!(redactor.excerpt(&"ä".repeat(300), 200).chars().count(), 200);
    assert_eq!(redactor.excerpt("äbcdefgh", 7), "äbcd...");
    assert_eq!(redactor.excerpt("äbcdefg", 7), "äbcdefg");
}

#[test]
fn a_short_secret_is_removed_only_where_it_stands_alone() {
    let redactor = redactor(&["x"]);
    let text = "bad key x: max context_length_exceeded, key=x";
    assert_eq!(redactor.clean(text), "bad key [redacted]: max context_length_exceeded, key=[redacted]");
}
