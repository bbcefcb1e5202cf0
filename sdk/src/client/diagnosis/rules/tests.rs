use rstest::rstest;

use super::*;
use crate::client::diagnosis::facts::{Caller, Tail, WorkflowTask};

const NOW: Millis = 1_000_000;

fn task(attempt: i32, age: Millis, is_started: bool) -> RunFacts {
    let workflow_task = Some(WorkflowTask { attempt, scheduled: NOW - age, is_started });
    RunFacts { now: NOW, task_queue: "desk".to_owned(), workflow_task, ..RunFacts::default() }
}

fn activity(attempt: i32, age: Millis, failure: Option<&str>) -> RunFacts {
    let caller = Caller { agent: Some("clerk".to_owned()), first_scheduled: 500 };
    let activity = Activity {
        kind: MODEL_ACTIVITY.to_owned(),
        task_queue: "desk".to_owned(),
        attempt,
        scheduled: NOW - age,
        failure: failure.map(str::to_owned),
        caller: Some(caller),
        ..Activity::default()
    };
    RunFacts { now: NOW, activities: vec![activity], ..RunFacts::default() }
}

#[rstest]
#[case::first_attempt(task(1, 60_000, true), None)]
#[case::first_attempt_just_scheduled(task(1, 3_900, false), None)]
#[case::nobody_takes_it(task(1, 4_000, false), Some(Suspicion::NotTaken))]
#[case::second_attempt_just_began(task(2, 1_900, true), None)]
#[case::second_attempt_hangs(task(2, 2_000, true), Some(Suspicion::Fails))]
#[case::third_attempt(task(3, 0, false), Some(Suspicion::Fails))]
#[case::no_task(RunFacts::default(), None)]
fn workflow_tasks_are_suspicious_from_here(#[case] facts: RunFacts, #[case] expected: Option<Suspicion>) {
    assert_eq!(facts.task_suspicion(), expected);
}

#[rstest]
#[case::one_failed_attempt(activity(2, 0, Some("429")), None)]
#[case::one_failed_attempt_with_a_long_pause(activity(2, -10_000, Some("429")), Some(Suspicion::Fails))]
#[case::two_failed_attempts(activity(3, 0, Some("429")), Some(Suspicion::Fails))]
#[case::just_scheduled(activity(1, 3_900, None), None)]
#[case::nobody_takes_it(activity(1, 4_000, None), Some(Suspicion::NotTaken))]
fn activities_are_suspicious_from_here(#[case] facts: RunFacts, #[case] expected: Option<Suspicion>) {
    assert_eq!(facts.activity_suspicion().map(|(_, suspicion)| suspicion), expected);
}

#[test]
fn one_timeout_of_an_activity_is_suspicious() {
    let mut facts = activity(2, 0, Some("activity StartToClose timeout"));
    facts.activities[0].has_timed_out = true;
    let problem = facts.problem().expect("a problem");
    assert_eq!(
        problem.to_string(),
        "the model call of agent `clerk` has failed once, attempt 2 begins at 00:16:40 UTC: activity StartToClose \
         timeout. Temporal retries it; if the model needs longer, raise start_to_close in ModelActivityOptions"
    );
}

#[test]
fn a_failing_model_is_named_with_its_agent_and_next_attempt() {
    let problem = activity(5, -20_000, Some("rate limited (429):\n slow down")).problem().expect("a problem");
    assert_eq!(problem.kind, RunProblemKind::ModelFails);
    assert_eq!((problem.agent.as_deref(), problem.since), (Some("clerk"), Some(500)));
    assert_eq!(
        problem.message,
        "the model call of agent `clerk` has failed 4 times, attempt 5 begins at 00:17:00 UTC: rate limited (429): \
         slow down"
    );
}

#[test]
fn a_session_store_that_fails_is_named() {
    let mut facts = activity(3, -20_000, Some("the database fails"));
    facts.activities[0].kind = format!("{SESSION_ACTIVITY}.threads");
    facts.activities[0].caller = None;
    let problem = facts.problem().expect("a problem");
    assert_eq!(problem.kind, RunProblemKind::ActivityFails);
    assert_eq!(
        problem.message,
        "a call of the session store `threads` has failed 2 times, attempt 3 begins at 00:17:00 UTC: the database fails"
    );
}

#[test]
fn a_paused_activity_is_no_problem() {
    let mut facts = activity(9, 60_000, Some("429"));
    facts.activities[0].is_paused = true;
    assert_eq!(facts.problem(), None);
}

#[rstest]
#[case(FailedTask::Failed("boom".to_owned()), RunProblemKind::WorkflowTaskFails)]
#[case(FailedTask::TimedOut, RunProblemKind::WorkflowTaskHangs)]
#[case(FailedTask::Nondeterminism("[TMPRL1100] Nondeterminism error".to_owned()), RunProblemKind::ReplayDiffers)]
#[case(
    FailedTask::Nondeterminism("[TMPRL1100] Nondeterministic future detected".to_owned()),
    RunProblemKind::AwaitsForeignFuture
)]
fn a_failing_task_is_told_by_its_latest_failure(#[case] failed: FailedTask, #[case] expected: RunProblemKind) {
    let facts = RunFacts { failed_task: Some(failed), ..task(4, 0, true) };
    assert_eq!(facts.problem().map(|problem| problem.kind), Some(expected));
}

#[test]
fn a_task_that_completed_in_between_is_no_problem() {
    assert_eq!(task(3, 0, true).problem(), None);
}

#[rstest]
#[case::plugin_is_missing(4_000, false, true, Some(RunProblemKind::ActivityNotPolled))]
#[case::no_worker(4_000, false, false, Some(RunProblemKind::NoWorker))]
#[case::busy_workers(29_000, true, true, None)]
#[case::busy_workers_for_long(30_000, true, true, Some(RunProblemKind::NoWorker))]
fn an_activity_that_waits_is_told_by_its_pollers(
    #[case] age: Millis,
    #[case] of_activities: bool,
    #[case] of_workflows: bool,
    #[case] expected: Option<RunProblemKind>,
) {
    let mut facts = activity(1, age, None);
    facts.activity_pollers = Some(of_activities);
    facts.workflow_pollers = Some(of_workflows);
    assert_eq!(facts.problem().map(|problem| problem.kind), expected);
}

#[rstest]
#[case::quiet(3_000, false, false, true)]
#[case::an_event_just_came(2_900, false, false, false)]
#[case::a_timer_runs(60_000, true, false, false)]
#[case::waits_for_people(60_000, false, true, false)]
fn a_run_that_nothing_can_continue_awaits_a_foreign_future(
    #[case] age: Millis,
    #[case] may_have_timer: bool,
    #[case] is_waiting: bool,
    #[case] expected: bool,
) {
    let facts = RunFacts {
        now: NOW,
        workflow_type: AGENT_WORKFLOW.to_owned(),
        is_waiting,
        tail: Some(Tail { last_event: NOW - age, may_have_timer }),
        ..RunFacts::default()
    };
    let kind = facts.problem().map(|problem| problem.kind);
    assert_eq!(kind, expected.then_some(RunProblemKind::AwaitsForeignFuture));
}
