use super::ChatRuns;
use crate::wire::{EventKind, RunEvent};

fn resumed(run: &str) -> RunEvent {
    RunEvent { run: run.to_owned(), ..RunEvent::new(EventKind::RunResumed {}) }
}

#[test]
fn runs_answer_messages_in_their_order() {
    let mut chat = ChatRuns::default();
    chat.message("a", false);
    chat.message("b", false);
    // A chat that continues as new repeats the messages that wait.
    chat.message("b", false);
    assert_eq!(chat.began("r1").as_deref(), Some("a"));
    assert_eq!(chat.began("r1"), None, "the same run");
    assert_eq!(chat.began("r2").as_deref(), Some("b"));
    assert_eq!(chat.began("r3"), None);
}

#[test]
fn a_refused_message_has_no_run() {
    let mut chat = ChatRuns::default();
    chat.message("a", false);
    chat.message("long", false);
    chat.message("long", true);
    chat.message("b", false);
    assert_eq!((chat.began("r1").as_deref(), chat.began("r2").as_deref()), (Some("a"), Some("b")));
}

#[test]
fn a_run_that_moves_to_the_next_execution_answers_the_same_message() {
    let mut chat = ChatRuns::default();
    chat.message("a", false);
    chat.message("b", false);
    chat.began("r1");
    chat.moving = Some("r1".to_owned());
    let event = resumed("r2");
    assert!(chat.has_moved(&event));
    assert_eq!(chat.moved(&event).as_deref(), Some("r1"));
    assert!(!chat.has_moved(&resumed("r2")), "a resumption in the same execution");
    assert_eq!(chat.began("r3").as_deref(), Some("b"));
}
