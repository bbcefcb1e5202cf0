use temporalio_common::protos::temporal::api::{common::v1::Payload, common::v1::SearchAttributes};

use super::{WorkflowExecutionInfo, reported};

#[test]
fn the_cause_of_a_reported_problem_is_read_from_its_words() {
    let data = br#"["category=WorkflowTaskFailed","cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure"]"#;
    let value = Payload { data: data.to_vec(), ..Payload::default() };
    let indexed_fields = [("TemporalReportedProblems".to_owned(), value)].into();
    let search_attributes = Some(SearchAttributes { indexed_fields });
    let info = WorkflowExecutionInfo { search_attributes, ..WorkflowExecutionInfo::default() };
    assert_eq!(reported(&info).as_deref(), Some("WorkflowWorkerUnhandledFailure"));
    assert_eq!(reported(&WorkflowExecutionInfo::default()), None);
}
