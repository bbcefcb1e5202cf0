use temporal_agents_core::wire::{EventKind, Item, RunEvent};

use super::ChatRuns;

fn resumed(run: &str) -> RunEvent {
    RunEvent { run: run.to_owned(), ..RunEvent::new(EventKind::RunResumed {}) }
}

/// The message of a run that begins with this text.
fn began(chat: &mut ChatRuns, run: &str, text: &str) -> Option<String> {
    chat.began(run, &[Item::user(text)])
}

#[test]
fn runs_answer_messages_in_their_order() {
    let mut chat = ChatRuns::default();
    chat.message("a", "A", false);
    chat.message("b", "B", false);
    // A chat that continues as new repeats the messages that wait.
    chat.message("b", "B", false);
    assert_eq!(began(&mut chat, "r1", "A").as_deref(), Some("a"));
    assert_eq!(began(&mut chat, "r1", "A"), None, "the same run");
    assert_eq!(chat.began("r2", &[]).as_deref(), Some("b"));
    assert_eq!(chat.began("r3", &[]), None);
}

#[test]
fn a_refused_message_has_no_run() {
    let mut chat = ChatRuns::default();
    chat.message("a", "A", false);
    chat.message("long", "L", false);
    chat.message("long", "", true);
    chat.message("b", "B", false);
    assert_eq!((chat.began("r1", &[]).as_deref(), chat.began("r2", &[]).as_deref()), (Some("a"), Some("b")));
}

#[test]
fn a_message_that_is_sent_again_has_no_second_run() {
    let mut chat = ChatRuns::new(["old".to_owned()]);
    chat.message("a", "A", false);
    assert_eq!(began(&mut chat, "r1", "A").as_deref(), Some("a"));
    chat.message("old", "O", false);
    chat.message("a", "A", false);
    chat.message("b", "B", false);
    assert_eq!(began(&mut chat, "r2", "B").as_deref(), Some("b"));
    // Also where the text of a run is unknown.
    chat.message("a", "A", false);
    chat.message("c", "C", false);
    assert_eq!(chat.began("r3", &[]).as_deref(), Some("c"));
}

#[test]
fn a_message_that_the_chat_has_forgotten_is_a_new_one() {
    let mut chat = ChatRuns::new(["old".to_owned()]);
    chat.message("old", "O", false);
    chat.message("b", "B", false);
    assert_eq!(began(&mut chat, "r1", "O").as_deref(), Some("old"));
    assert_eq!(began(&mut chat, "r2", "B").as_deref(), Some("b"));
}

#[test]
fn a_run_that_moves_to_the_next_execution_answers_the_same_message() {
    let mut chat = ChatRuns::default();
    chat.message("a", "A", false);
    chat.message("b", "B", false);
    chat.began("r1", &[]);
    chat.moving = Some("r1".to_owned());
    // The next execution begins with the messages that are open.
    chat.message("a", "A", false);
    chat.message("b", "B", false);
    let event = resumed("r2");
    assert!(chat.has_moved(&event));
    assert_eq!(chat.moved(&event).as_deref(), Some("r1"));
    assert!(!chat.has_moved(&resumed("r2")), "a resumption in the same execution");
    assert_eq!(chat.began("r3", &[]).as_deref(), Some("b"));
}
