use std::time::Duration;

use super::parse;

#[test]
fn numbers_with_units_add_up() {
    let cases = [("250ms", 250), ("20s", 20_000), ("5m", 300_000), ("1h", 3_600_000), ("1h30m", 5_400_000)];
    for (text, millis) in cases {
        assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
    }
}

#[test]
fn anything_else_is_refused() {
    for text in ["", "20", "s", "20 s", "20sec", "-1s", "1.5s", "30m1h", "1s1s", "1s "] {
        let message = parse(text).expect_err(text);
        assert!(message.contains("is not a duration"), "{text}: {message}");
    }
    assert_eq!(parse("0s"), Err("\"0s\" is zero: a duration must be positive".to_owned()));
    assert_eq!(parse("9999999999999999h"), Err("\"9999999999999999h\" is too long".to_owned()));
}
