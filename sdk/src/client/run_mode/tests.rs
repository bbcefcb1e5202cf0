use rstest::rstest;

use super::RunMode;

#[rstest]
#[case::absent(None, Ok(RunMode::InProcess))]
#[case::empty(Some(""), Ok(RunMode::InProcess))]
#[case::in_process(Some("inprocess"), Ok(RunMode::InProcess))]
#[case::temporal(Some("temporal"), Ok(RunMode::Temporal))]
#[case::unknown(Some("Temporal"), Err("AGENT_RUNNER_MODE is \"Temporal\"; it may be \"temporal\" or \"inprocess\""))]
fn the_variable_chooses_the_mode(#[case] value: Option<&str>, #[case] expected: Result<RunMode, &str>) {
    let mode = RunMode::of_variable(value.map(Into::into)).map_err(|error| error.to_string());
    assert_eq!(mode, expected.map_err(str::to_owned));
}
