use rstest::rstest;
use tonic::Status;

use super::is_of_missing_handler;

#[rstest]
#[case::rust("No query handler for '__temporal_workflow_stream_poll'")]
#[case::python("Query handler for '__temporal_workflow_stream_poll' expected but not found, known queries: [state]")]
#[case::typescript(
    "Workflow did not register a handler for __temporal_workflow_stream_poll. Registered queries: [state]"
)]
#[case::go("unknown queryType __temporal_workflow_stream_poll. KnownQueryTypes=[state]")]
#[case::java("Unknown query type: __temporal_workflow_stream_poll, knownTypes=[state]")]
fn a_workflow_without_the_query_has_no_more_items(#[case] message: &str) {
    assert!(is_of_missing_handler(&Status::invalid_argument(message)));
}

#[test]
fn a_history_that_does_not_replay_is_not_the_end_of_a_stream() {
    let message = "[TMPRL1100] Nondeterminism error: Timer fired event did not have expected timer id 1, it was 5!";
    assert!(!is_of_missing_handler(&Status::invalid_argument(message)));
}
