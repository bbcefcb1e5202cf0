use rstest::rstest;

use super::*;

/// Returns the delays for an activity that every worker refuses at once, in seconds.
fn pauses(refusal: Refusal, longest: Option<Duration>) -> Vec<u64> {
    let (mut pauses, mut waited) = (Vec::new(), Duration::ZERO);
    while let Some(pause) = refusal.pause(waited, pauses.len(), longest) {
        waited += pause;
        pauses.push(pause.as_secs());
    }
    pauses
}

#[rstest]
#[case::that_is_not_registered(Refusal::NotRegistered, None, &[1, 2, 3, 4, 5, 5, 10, 10, 20, 30, 30, 60, 60, 60])]
#[case::whose_request_is_too_new(
    Refusal::TooNew,
    None,
    &[1, 2, 3, 4, 5, 5, 10, 10, 20, 30, 30, 60, 60, 60, 60, 60, 60, 60, 60]
)]
#[case::with_a_limit_of_its_own(Refusal::NotRegistered, Some(Duration::from_secs(8)), &[1, 2, 3, 2])]
#[case::with_a_longer_limit(Refusal::NotRegistered, Some(Duration::from_hours(6)), &[
    1, 2, 3, 4, 5, 5, 10, 10, 20, 30, 30, 60, 60, 60,
])]
#[case::that_waits_for_no_deploy(Refusal::NotRegistered, Some(Duration::ZERO), &[])]
fn an_activity_is_scheduled_again_after(
    #[case] refusal: Refusal,
    #[case] longest: Option<Duration>,
    #[case] expected: &[u64],
) {
    assert_eq!(pauses(refusal, longest), expected);
}

#[test]
fn a_worker_is_waited_for_five_minutes_and_a_newer_one_for_ten() {
    let minutes = |refusal| pauses(refusal, None).iter().sum::<u64>() / 60;
    assert_eq!([Refusal::NotRegistered, Refusal::TooNew].map(minutes), [5, 10]);
}

#[test]
fn an_activity_that_was_scheduled_late_is_tried_once_more_after_a_pause() {
    // The workflow's worker was unavailable for an hour while the timer ran.
    assert_eq!(Refusal::NotRegistered.pause(Duration::from_hours(1), 1, None), None);
    assert_eq!(
        Refusal::NotRegistered.pause(Duration::from_millis(299_400), 14, None),
        Some(Duration::from_millis(600))
    );
}

#[test]
fn a_timer_names_what_is_missing_in_a_line_that_the_server_takes() {
    assert_eq!(Requirement::Tool("order").described(), "tool `order`");
    assert_eq!(Requirement::McpServer("library").described(), "MCP server `library`");
    let long = "ü".repeat(1000);
    assert!(Requirement::Remote(&long).described().len() < 300);
}

#[test]
fn only_what_is_scheduled_again_is_kept_from_the_worker_that_may_have_refused_it() {
    let options = ActivityOptions::with_start_to_close_timeout(Duration::from_secs(1)).activity_id("a").build();
    let is_lazy = |id: &str| with_activity_id(&options, id.to_owned()).do_not_eagerly_execute;
    assert_eq!(["a", "a-retry-1"].map(is_lazy), [false, true]);
}
