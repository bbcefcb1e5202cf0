use temporal_agents_core::wire::RunState;
use temporalio_workflow::WorkflowCancellationToken;

use super::*;

fn begin(continuing: &AutoContinue, arrived: Option<RestoredRun>) -> Result<ContinuableRun, RunError> {
    let options = ContinueOptions::default();
    continuing.begin("a", options, Announcement::default(), ActiveRuns::default(), arrived)
}

/// A patch function for runs that continue as new by the first rule, or cannot: no marker is put
/// into their history.
fn never(slug: &str) -> bool {
    panic!("{slug:?} is not to be asked")
}

#[test]
fn a_run_begins_with_what_the_execution_has_brought_along() -> Result<(), RunError> {
    let continuing = AutoContinue::new(Rc::new(|_| WorkflowTermination::cancelled()));
    let arrived = begin(&continuing, Some(RestoredRun { continued: 1, bytes: 3_000, sent_again: 0 }))?;
    arrived.add(100);
    drop(arrived);
    let later = begin(&continuing, None)?;
    assert_eq!((later.continued, later.pace.into_inner()), (1, Pace::after(3_000, 0)));
    Ok(())
}

#[test]
fn a_run_continues_neither_beside_others_nor_at_a_turn_at_which_it_could_not() -> Result<(), RunError> {
    let continuing = AutoContinue::new(Rc::new(|_| WorkflowTermination::cancelled()));
    let (at_work, token) = (ActiveRuns::default(), WorkflowCancellationToken::new());
    let options = ContinueOptions::builder().new_events(0).build();
    let moving = continuing.begin("a", options, Announcement::default(), at_work.clone(), None)?;
    let mut state = RunState::finished("a", Vec::new());
    let _this = at_work.one();
    moving.model_call(0);
    assert!(moving.is_due(None, &token, &state, never));
    let other = at_work.one();
    assert!(!moving.is_due(None, &token, &state, never));
    drop(other);
    moving.stayed_at.set(Some(0));
    assert!(!moving.is_due(None, &token, &state, never));
    state.turn = 1;
    assert!(moving.is_due(None, &token, &state, never));
    Ok(())
}

#[test]
fn the_patch_is_asked_for_where_the_run_would_leave_because_of_it() -> Result<(), RunError> {
    let continuing = AutoContinue::new(Rc::new(|_| WorkflowTermination::cancelled()));
    let (at_work, token) = (ActiveRuns::default(), WorkflowCancellationToken::new());
    let options = ContinueOptions::builder().new_bytes(1_000).build();
    let moving = continuing.begin("a", options.clone(), Announcement::default(), at_work.clone(), None)?;
    let state = RunState::finished("a", Vec::new());
    let _this = at_work.one();
    moving.model_call(0);
    moving.add_more(1_000);
    assert!(moving.is_due(None, &token, &state, |_| true));
    assert!(!moving.is_due(None, &token, &state, |_| false));
    assert!(continuing.has_enough(&options, 0, |_| true));
    assert!(!continuing.has_enough(&options, 0, |_| false));
    let _other = at_work.one();
    assert!(!moving.is_due(None, &token, &state, never), "it cannot leave now");
    Ok(())
}
