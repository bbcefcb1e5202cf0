//! The text of a call's arguments, as a model writes it.
//!
//! Arguments are a JSON object. Some APIs send an empty text, blanks or `null` for a call without
//! arguments; all of these are `{}`.

use serde_json::{Map, Value};

/// The error of a text that is not the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsUnread {
    /// The text is not JSON.
    NotJson,
    /// The text is JSON, but not an object.
    NotAnObject,
}

/// Reads the arguments of a call.
///
/// # Errors
/// [`ArgumentsUnread`].
pub fn read_arguments(text: &str) -> Result<Map<String, Value>, ArgumentsUnread> {
    // The white space of JSON.
    if text.trim_matches([' ', '\t', '\n', '\r']).is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(ArgumentsUnread::NotAnObject),
        Err(_) => Err(ArgumentsUnread::NotJson),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::{ArgumentsUnread, read_arguments};

    #[rstest]
    #[case::empty("")]
    #[case::blank(" \r\n\t")]
    #[case::null("null")]
    #[case::null_between_blanks("\n null ")]
    #[case::object("{}")]
    fn text_without_arguments_reads_as_empty_object(#[case] text: &str) {
        assert_eq!(read_arguments(text), Ok(serde_json::Map::new()));
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(
            read_arguments(r#"{"n": 3.0}"#).map(|members| json!(members).to_string()),
            Ok(r#"{"n":3.0}"#.into())
        );
    }

    #[rstest]
    #[case::word("nul", ArgumentsUnread::NotJson)]
    #[case::no_space_of_json("\u{a0}", ArgumentsUnread::NotJson)]
    #[case::text("\"\"", ArgumentsUnread::NotAnObject)]
    #[case::list("[]", ArgumentsUnread::NotAnObject)]
    fn text_of_other_values_is_refused(#[case] text: &str, #[case] unread: ArgumentsUnread) {
        assert_eq!(read_arguments(text), Err(unread));
    }
}
