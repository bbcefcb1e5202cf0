use std::time::Duration;

use rstest::rstest;
use serde_json::json;

use super::{ToolFailure, ToolFailureKind};
use crate::{
    tool::{ToolError, schema::parse_arguments},
    wire::tool_error::FailureDetail,
};

fn told() -> ToolFailure {
    ToolFailure::returned("no such order", Some("There is no such order.".to_owned()))
}

fn seat() -> ToolError {
    ToolError::tell_model("there is no seat 41")
        .code("no_such_seat")
        .issue("seat", "maximum", 40)
        .example(json!({"seat": 12}))
}

#[test]
fn a_code_issues_and_an_example_are_for_the_model_too() {
    let (failure, _) = seat().into_parts();
    let told = "there is no seat 41 (no_such_seat). What does not fit: \
                [{\"field\":\"seat\",\"constraint\":\"maximum\",\"allowed\":40}]. Arguments that fit: {\"seat\":12}";
    assert_eq!(failure.issues_message(), told);
    assert_eq!(
        failure.retry_hint(),
        Some(json!({
            "reason": "invalid_arguments",
            "message": "there is no seat 41",
            "code": "no_such_seat",
            "fields": [{"field": "seat", "constraint": "maximum", "allowed": 40}],
            "example_input": {"seat": 12},
        }))
    );
}

#[test]
fn details_are_truncated() {
    let long = "x".repeat(5_000);
    let many = (0..200).fold(ToolError::failed("no").code(&*long), |error, _| error.issue(&long, &long, &*long));
    let (failure, _) = many.example(json!({"text": long})).into_parts();
    assert_eq!((failure.code.len(), failure.issues.len()), (100, 100));
    assert!(serde_json::to_string(&failure.issues[0]).unwrap().len() < 2_600);
    assert!(failure.example.unwrap().to_string().len() < 2_100);
}

fn refused() -> ToolFailure {
    let invalid = parse_arguments("fail", r#"{"how": 3}"#, &json!({"properties": {"how": {"type": "string"}}}));
    invalid.expect_err("they do not fit").into()
}

#[test]
fn a_hidden_failure_without_issues_has_no_retry_hint() {
    let (failure, _) = ToolError::failed("the password is wrong").into_parts();
    assert_eq!(failure.retry_hint(), None);
}

#[rstest]
#[case::told(told())]
#[case::hidden(ToolFailure::returned("the password is wrong", None))]
#[case::with_details(seat().into_parts().0)]
#[case::refused_arguments(refused())]
#[case::panicked(ToolFailure::new(ToolFailureKind::Panicked, "it panicked"))]
#[case::oversized(ToolFailure::new(ToolFailureKind::Oversized, "3 MB"))]
#[case::timed_out(ToolFailure::timed_out(Duration::from_millis(1_500), "deadline has elapsed"))]
#[case::outcome_unknown(ToolFailure::new(ToolFailureKind::OutcomeUnknown, "the worker was lost"))]
fn a_recorded_failure_is_read_as_it_was(#[case] failure: ToolFailure) {
    let recorded = failure.recorded().expect("this kind is recorded");
    assert_eq!(ToolFailure::of_record(recorded, failure.message.clone()), failure);
}

#[rstest]
#[case::told(told())]
#[case::hidden(ToolFailure::returned("the password is wrong", None))]
#[case::ends_the_run(ToolFailure::new(ToolFailureKind::FailsRun, "the ledger is broken"))]
#[case::with_details(seat().into_parts().0)]
#[case::refused_arguments(refused())]
#[case::panicked(ToolFailure::new(ToolFailureKind::Panicked, "it panicked"))]
#[case::oversized(ToolFailure::new(ToolFailureKind::Oversized, "3 MB"))]
fn a_failure_of_an_activity_is_read_as_it_was(#[case] failure: ToolFailure) {
    let failure_type = failure.activity_failure_type();
    let read = ToolFailure::of_activity(
        Some(failure_type),
        failure.message.clone(),
        FailureDetail::read(failure.detail().written()),
    );
    assert_eq!(read, failure);
}

#[rstest]
#[case::none(None)]
#[case::of_another_library(Some("CardDeclined"))]
fn an_unknown_failure_type_is_an_error_whose_detail_is_not_for_the_model(#[case] failure_type: Option<&str>) {
    let read =
        ToolFailure::of_activity(failure_type, "declined".to_owned(), FailureDetail::read(Some("card 4711".into())));
    assert_eq!(read, ToolFailure::new(ToolFailureKind::Failed, "declined"));
}

#[test]
fn another_library_cannot_refuse_arguments() {
    let detail = json!({"invalid_arguments": true, "issues": [{"field": "card", "constraint": "4711"}]});
    let read = ToolFailure::of_error(Some("ToolError"), "declined".to_owned(), FailureDetail::read(Some(detail)));
    assert_eq!(read.kind, ToolFailureKind::Failed);
}

#[test]
fn another_library_cannot_end_the_run() {
    let read = ToolFailure::of_error(Some("ToolFailsRun"), "stop".to_owned(), FailureDetail::default());
    assert_eq!(read.kind, ToolFailureKind::Failed);
}

#[test]
fn invalid_arguments_are_shown_with_each_violation() {
    let schema = json!({
        "type": "object",
        "properties": {"how": {"type": "string"}, "often": {"type": "integer"}},
        "required": ["how", "often"],
    });
    let invalid = parse_arguments("fail", r#"{"how": 3}"#, &schema).expect_err("they do not fit");
    let failure = ToolFailure::from(invalid);
    assert_eq!(failure.reason(), "Invalid JSON input for tool fail");
    let issues: Vec<String> = failure.issues.iter().map(ToString::to_string).collect();
    assert_eq!(failure.to_string(), format!("Invalid JSON input for tool fail: {}", issues.join("; ")));
    assert_eq!(issues.len(), 2);
}
