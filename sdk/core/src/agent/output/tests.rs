use serde::Deserialize;
use serde_json::json;

use super::read_output;

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Plan {
    hours: u32,
}

#[test]
fn an_output_is_a_value_of_its_type_or_the_json_of_one() {
    assert_eq!(read_output::<Plan>(&json!({"hours": 3})).unwrap(), Plan { hours: 3 });
    assert_eq!(read_output::<Plan>(&json!(r#"{"hours": 3}"#)).unwrap(), Plan { hours: 3 });
    assert_eq!(read_output::<u32>(&json!("12")).unwrap(), 12);
    assert_eq!(read_output::<String>(&json!("12")).unwrap(), "12", "a text stays one where one is asked for");
}

#[test]
fn what_is_neither_is_refused_for_what_it_is() {
    let refused = |output| read_output::<Plan>(&output).unwrap_err().to_string();
    assert_eq!(refused(json!("later")), r#"invalid type: string "later", expected struct Plan"#);
    assert_eq!(refused(json!({})), "missing field `hours`");
}
