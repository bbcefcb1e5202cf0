use super::*;

fn with_run() -> Polls {
    let mut polls = Polls::default();
    polls.run_began();
    polls
}

#[test]
fn polls_beyond_the_budget_have_a_time_limit_until_one_before_them_leaves() {
    let mut polls = with_run();
    let tickets: Vec<u64> = (0..6).map(|_| polls.park()).collect();
    let limited = |polls: &Polls| tickets.iter().map(|ticket| polls.time_limit(*ticket).is_some()).collect::<Vec<_>>();
    assert_eq!(limited(&polls), [false, false, false, false, true, true]);
    polls.unpark(tickets[1]);
    assert!(polls.time_limit(tickets[4]).is_none() && polls.time_limit(tickets[5]).is_some());
}

#[test]
fn the_time_limit_grows_while_no_item_arrives() {
    let mut polls = Polls::default();
    let ticket = polls.park();
    let limit = |polls: &Polls| polls.time_limit(ticket).map(|limit| limit.as_secs());
    assert_eq!(limit(&polls), Some(3));
    (0..8).for_each(|_| polls.record_timeout());
    assert_eq!(limit(&polls), Some(6));
    (0..100).for_each(|_| polls.record_timeout());
    assert_eq!(limit(&polls), Some(24));
    polls.item_arrived();
    assert_eq!(limit(&polls), Some(3));
}

#[test]
fn without_a_run_polls_return_together() {
    let mut polls = with_run();
    let first = polls.park();
    assert!(polls.time_limit(first).is_none());
    polls.runs_ended();
    assert!(polls.is_released(first), "it would keep the workflow from ending");
    let (second, third) = (polls.park(), polls.park());
    assert!(polls.time_limit(second).is_some() && !polls.is_released(second));
    polls.record_timeout();
    assert!(polls.is_released(second) && polls.is_released(third));
    polls.hold();
    let fourth = polls.park();
    assert!(polls.time_limit(fourth).is_none());
}

#[test]
fn a_draining_stream_releases_what_waits_and_lets_later_polls_wait_a_short_time() {
    let mut polls = with_run();
    let first = polls.park();
    polls.drain();
    let second = polls.park();
    assert!(polls.is_released(first) && !polls.is_released(second));
    assert_eq!(polls.time_limit(second), Some(FIRST_TIME_LIMIT));
    polls.record_timeout();
    assert!(polls.is_released(second));
    polls.reopen();
    let third = polls.park();
    assert_eq!((polls.time_limit(third), polls.is_released(third)), (None, false));
}

#[test]
fn the_results_of_one_task_share_their_room() {
    let mut polls = Polls::default();
    assert_eq!(polls.remaining_bytes(7), None);
    polls.record_result(7, 1_000_000);
    polls.record_result(7, 300_000);
    assert_eq!(polls.remaining_bytes(7), Some(200_000));
    assert_eq!(polls.remaining_bytes(11), None, "another task");
    polls.record_result(11, 2_000_000);
    assert_eq!(polls.remaining_bytes(11), Some(0));
}

#[test]
fn polls_of_an_execution_that_has_had_many_are_delayed() {
    let mut polls = with_run();
    let delays: Vec<_> = (0..1_001)
        .map(|_| {
            polls.arrived();
            polls.delay().map_or(0, |delay| delay.as_secs())
        })
        .collect();
    assert_eq!([delays[499], delays[500], delays[1_000]], [0, 2, 10]);
    polls.drain();
    assert_eq!(polls.delay(), None);
}

#[test]
fn last_updates_are_kept_for_decisions() {
    let mut polls = Polls::default();
    let refused = (0..2_000).filter(|_| {
        let is_refused = polls.is_used_up();
        if !is_refused {
            polls.arrived();
        }
        is_refused
    });
    assert_eq!(refused.count(), 500);
}

#[test]
fn polls_are_unanswered_until_their_results() {
    let mut polls = Polls::default();
    assert!(!polls.has_unanswered());
    // It has arrived, and does not wait yet.
    polls.arrived();
    polls.arrived();
    assert!(polls.has_unanswered() && polls.is_idle());
    polls.record_answer();
    assert!(polls.has_unanswered());
    polls.record_answer();
    assert!(!polls.has_unanswered());
}
