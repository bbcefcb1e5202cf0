//! The maximum number of calls in a response.

use super::*;

fn limited(max_calls_per_response: usize) -> ByHand {
    ByHand::with_rules(Rules { max_calls_per_response, ..Rules::default() })
}

/// Two calls of tools and one handoff.
fn three() -> Vec<Item> {
    vec![
        call("c1", "weather", "{}"),
        message("let me see"),
        call("c2", "time", "{}"),
        call("c3", "transfer_to_sales", "{}"),
    ]
}

#[test]
fn a_response_with_more_calls_than_the_limit_ends_the_run() {
    let mut run = limited(2);
    assert!(run.engine.has_too_many_calls(&response(three())));
    let error = run.turn(setup(), three()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the model answered agent \"triage\" with 3 calls in one response (turn 1), the limit is 2; to permit more \
         calls, raise RunConfig::max_calls_per_response"
    );
    let reference = error.reference();
    assert_eq!((reference.class, reference.has_run_data), (Some("ModelBehaviorError"), true));
    let state = run.engine.state();
    assert_eq!((state.items.len(), state.usage.requests), (0, 1), "the answer was paid for, and nothing of it stays");
}

#[test]
fn a_response_with_as_many_calls_as_the_limit_runs() {
    let mut run = limited(3);
    assert!(!run.engine.has_too_many_calls(&response(three())));
    run.turn(setup(), three()).unwrap();
    assert_eq!(run.due_calls().len(), 2);
}

#[test]
fn a_run_from_before_the_limit_goes_on_as_it_has() {
    let mut run = limited(2);
    assert!(!run.engine.patched(CALLS_LIMITED, || false));
    run.turn(setup(), three()).unwrap();
    assert_eq!(run.due_calls().len(), 2);
}

#[test]
fn questions_of_hosted_servers_count() {
    let request =
        |id: &str| item(json!({"type": "mcp_approval_request", "id": id, "server_label": "crm", "name": "find"}));
    let error = limited(1).turn(setup(), vec![request("m1"), request("m2")]).unwrap_err();
    assert!(matches!(error, RunError::TooManyCalls { calls: 2, limit: 1, .. }), "{error}");
}

#[test]
fn a_run_takes_a_thousand_calls_unless_it_says_otherwise() {
    let calls =
        |count: usize| (0..count).map(|number| call(&format!("c{number}"), "weather", "{}")).collect::<Vec<_>>();
    ByHand::start().turn(setup(), calls(1_000)).unwrap();
    let error = ByHand::start().turn(setup(), calls(MAX_CALLS_PER_RESPONSE + 1)).unwrap_err();
    assert!(matches!(error, RunError::TooManyCalls { limit: MAX_CALLS_PER_RESPONSE, .. }), "{error}");
}
