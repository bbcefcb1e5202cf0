use super::RunMode;

#[test]
fn the_modes_have_the_names_of_the_variable() {
    for (name, mode) in [("temporal", RunMode::Temporal), ("inprocess", RunMode::InProcess)] {
        assert_eq!(name.parse(), Ok(mode));
        assert_eq!(serde_json::to_value(mode).unwrap(), name);
    }
    assert_eq!(RunMode::default(), RunMode::InProcess);
}

#[test]
fn another_mode_is_named() {
    let error = "in-process".parse::<RunMode>().unwrap_err();
    assert!(error.to_string().contains("\"in-process\""), "{error}");
}
