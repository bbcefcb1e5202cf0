use super::*;

#[derive(Serialize)]
struct Weather {
    city: &'static str,
    celsius: i32,
}

#[test]
fn a_string_is_itself_and_anything_else_is_compact_json() {
    assert_eq!("12 \"degrees\"".into_output().unwrap(), ToolOutput::Text("12 \"degrees\"".to_owned()));
    let weather = Weather { city: "Oslo", celsius: 12 };
    assert_eq!(weather.into_output().unwrap(), ToolOutput::Text("{\"city\":\"Oslo\",\"celsius\":12}".to_owned()));
}
