use temporalio_workflow::common::protos::temporal::api::{
    common::v1::{Payload, Payloads},
    failure::v1::{
        ApplicationFailureInfo, CanceledFailureInfo, NexusHandlerFailureInfo, NexusOperationFailureInfo,
        TimeoutFailureInfo,
    },
};

use super::*;

fn failure(message: &str, info: FailureInfo, cause: Option<Failure>) -> Failure {
    Failure { message: message.to_owned(), failure_info: Some(info), cause: cause.map(Box::new), ..Failure::default() }
}

fn of_operation(cause: Failure) -> Failure {
    let info = FailureInfo::NexusOperationExecutionFailureInfo(NexusOperationFailureInfo::default());
    failure("nexus operation completed unsuccessfully", info, Some(cause))
}

fn application(kind: &str, message: &str, detail: Option<&str>) -> Failure {
    let payload = |text: &str| Payload { data: format!("{text:?}").into_bytes(), ..Payload::default() };
    let details = detail.map(|text| Payloads { payloads: vec![payload(text)] });
    let info = ApplicationFailureInfo { r#type: kind.to_owned(), details, ..ApplicationFailureInfo::default() };
    failure(message, FailureInfo::ApplicationFailureInfo(info), None)
}

fn timed_out(kind: TimeoutType) -> Failure {
    let info = TimeoutFailureInfo { timeout_type: kind.into(), ..TimeoutFailureInfo::default() };
    of_operation(failure("operation timed out", FailureInfo::TimeoutFailureInfo(info), None))
}

fn read(failure: &Failure) -> WorkflowToolError {
    let operation = NexusOperation::named("e", "s", "o").schedule_to_close(Duration::from_secs(7));
    failed("it".to_owned(), failure, &operation)
}

fn fails(error_type: Option<&str>, message: &str, detail: Option<&str>) -> WorkflowToolError {
    WorkflowToolError::Failed {
        what: "it".to_owned(),
        error_type: error_type.map(str::to_owned),
        message: message.to_owned(),
        detail: detail.map(|detail| Box::new(detail.into())),
    }
}

#[test]
fn a_failed_operation_says_why() {
    let lost = of_operation(application("Lost", "it sank", None));
    assert_eq!(read(&lost), fails(Some("Lost"), "it sank", None));
}

#[test]
fn a_handlers_error_says_of_which_type_and_what_was_behind_it() {
    let info = NexusHandlerFailureInfo { r#type: "INTERNAL".to_owned(), ..NexusHandlerFailureInfo::default() };
    let info = FailureInfo::NexusHandlerFailureInfo(info);
    let handler = failure("it failed", info, Some(application("ToolError", "closed", Some("The port is closed."))));
    let message = "the handler answered INTERNAL: it failed: closed";
    assert_eq!(read(&of_operation(handler)), fails(Some("ToolError"), message, Some("The port is closed.")));
}

#[test]
fn a_timeout_says_which_time_was_exceeded() {
    let exceeded = |after| WorkflowToolError::TimedOut { what: "it".to_owned(), after };
    assert_eq!(read(&timed_out(TimeoutType::ScheduleToClose)), exceeded(Some(Duration::from_secs(7))));
    assert_eq!(read(&timed_out(TimeoutType::ScheduleToStart)), exceeded(Some(Duration::from_secs(7))));
    assert_eq!(read(&timed_out(TimeoutType::StartToClose)), exceeded(None));
}

#[test]
fn a_cancelled_operation_is_cancelled() {
    let info = FailureInfo::CanceledFailureInfo(CanceledFailureInfo::default());
    let cancelled = WorkflowToolError::Cancelled { what: "it".to_owned() };
    assert_eq!(read(&of_operation(failure("cancelled", info, None))), cancelled);
}
