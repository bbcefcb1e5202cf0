//! Tests that no form of a secret remains, whatever the encoding of the string around it.

use std::fmt::Write;

use proptest::prelude::*;
use rstest::rstest;

use super::{STANDARD, Secrets, URL_SAFE};

fn clean(secret: &str, text: &str) -> String {
    let mut secrets = Secrets::default();
    secrets.add(secret);
    let clean = secrets.without(text).into_owned();
    assert_eq!(secrets.are_in(text), clean != text);
    clean
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Encodes as JSON in ASCII only, as Python does.
fn ascii_json(text: &str) -> String {
    let mut ascii = String::new();
    for unit in json(text).encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => ascii.push(char::from(byte)),
            _ => write!(ascii, "\\u{unit:04x}").unwrap(),
        }
    }
    ascii
}

fn url(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        encoded
    })
}

fn form(text: &str) -> String {
    url(text).replace("%20", "+").replace("%2A", "*")
}

fn base64(text: &str, alphabet: &[u8; 64]) -> String {
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            encoded.push(char::from(alphabet[bits >> (18 - 6 * place) & 0x3f]));
        }
        encoded.push_str(&"="[..].repeat(3 - three.len()));
    }
    encoded
}

fn inner(quoted: &str) -> &str {
    &quoted[1..quoted.len() - 1]
}

/// Returns the forms in which a string may occur, each with its name.
fn forms(text: &str) -> Vec<(&'static str, String)> {
    let once = inner(&json(text)).to_owned();
    vec![
        ("as it is", text.to_owned()),
        ("JSON", once.clone()),
        ("JSON in JSON", inner(&json(&once)).to_owned()),
        ("JSON three times", inner(&json(inner(&json(&once)))).to_owned()),
        ("ASCII JSON", inner(&ascii_json(text)).to_owned()),
        ("Debug", inner(&format!("{text:?}")).to_owned()),
        ("Debug of JSON", inner(&format!("{once:?}")).to_owned()),
        ("a URL", url(text)),
        ("a form", form(text)),
        ("JSON in a URL", url(&once)),
    ]
}

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq+hkiG9w0/AQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n";
const ACCOUNT: &str = r#"{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n", "client_id": "7"}"#;

#[rstest]
#[case::token("tok-literal-123456")]
#[case::quoted("line one of a key\nline \"two\" of a key")]
#[case::path(r"C:\keys\new\tab\u0041")]
#[case::other_letters("schlüssel-\u{1F511}-größe")]
#[case::pem(KEY)]
#[case::json(ACCOUNT)]
fn a_secret_is_found_in_each_of_its_forms(#[case] secret: &str) {
    for (name, form) in forms(secret) {
        let text = format!("before {form} after");
        assert_eq!(clean(secret, &text), "before [redacted] after", "{name}");
    }
}

#[rstest]
#[case::standard(STANDARD)]
#[case::url_safe(URL_SAFE)]
fn a_secret_is_found_in_base64_whatever_is_before_it(#[case] alphabet: &[u8; 64]) {
    let secret = "tok?literal>123456~~~";
    for before in ["", "u", "us", "use", "user:", "a longer name:"] {
        let header = format!("Basic {}", base64(&format!("{before}{secret}"), alphabet));
        let left = clean(secret, &header);
        assert!(left.contains("[redacted]"), "{header} -> {left}");
        // The bytes before the secret, and at most one character at either end, remain.
        let most = "Basic ".len() + before.len().div_ceil(3) * 4 + "[redacted]".len() + 4;
        assert!(left.len() <= most, "{header} -> {left}");
    }
    let wrapped = base64(&KEY.repeat(2), alphabet)
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect::<Vec<_>>();
    for text in [wrapped.join("\n"), json(&wrapped.join("\r\n"))] {
        let left = clean(KEY, &text);
        assert!(left.len() < 60, "{left}");
    }
}

#[test]
fn lines_of_a_key_are_secrets_themselves() {
    assert_eq!(clean(KEY, "bad line: BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj."), "bad line: [redacted].");
    assert_eq!(clean(ACCOUNT, "read MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nof it"), "read [redacted]\nof it");
    assert_eq!(clean("first line, long enough\nid: 7", "id: 7"), "id: 7", "short lines are words");
}

#[test]
fn overlapping_secrets_leave_nothing_of_either() {
    let mut secrets = Secrets::default();
    secrets.add("abcdefgh");
    secrets.add("efghijklmnop");
    assert_eq!(secrets.without("<abcdefghijklmnop>"), "<[redacted]>");
}

#[test]
fn what_is_no_secret_stays() {
    for text in
        ["", "a \\n b \\\\u0041 %41 %zz %2", "\\", "%", "%5", "\\u", "\\u{", "\\u{}", "\\uD83D\\u", "100 % + more"]
    {
        assert_eq!(clean("tok-literal-123456", text), text);
    }
}

#[test]
fn long_runs_of_escapes_are_read_once() {
    let mut secrets = Secrets::default();
    secrets.add(KEY);
    secrets.add(r"\\\\\\\\\\\\a");
    for piece in ["\\", "%5C", "%255C", "\\n", "+", "%25", "-", "A"] {
        let text = piece.repeat(20_000);
        assert_eq!(secrets.without(&text), text);
    }
}

proptest! {
    #[test]
    fn no_form_survives(secret in r#"[ -~\n\t"\\é\u{1F511}]{8,40}"#, before in ".{0,8}", after in "[^0-9a-fA-F\\\\%n]{0,8}") {
        prop_assume!(!secret.contains('%') && secret.trim().len() >= 8);
        let names = forms(&secret).into_iter().zip(forms(&format!("{before}{secret}{after}")));
        for ((name, form), (_, text)) in names {
            let left = clean(&secret, &text);
            prop_assert!(!left.contains(&form), "{name}: {text:?} -> {left:?}");
        }
    }

    #[test]
    fn any_text_is_read(secret in ".{0,20}", text in r"[\\%u{}25CDn0-9+ a-f\u{1F511}]{0,60}") {
        let mut secrets = Secrets::default();
        secrets.add(&secret);
        let _ = secrets.without(&text);
    }
}
