use serde_json::json;
use temporal_agents_core::wire::{Carried, Item, RunState, carried::CarriedState};

use super::{Chat, ChatMessage, ChatOutcome, ChatReply};

fn said(id: &str, text: &str) -> ChatMessage {
    ChatMessage::new(id, text)
}

fn answered(text: &str) -> ChatOutcome {
    ChatOutcome::Answered { output: json!(text) }
}

#[test]
fn a_message_is_taken_once_and_its_answer_is_there_for_who_asks_again() {
    let mut chat = Chat::default();
    assert_eq!(chat.accept(said("a", "Hello.")), Ok("a".to_owned()));
    assert_eq!(chat.accept(said("a", "Hello.")), Ok("a".to_owned()));
    assert_eq!(chat.next(), Some(said("a", "Hello.")));
    assert_eq!(chat.accept(said("a", "Hello.")), Ok("a".to_owned()));
    assert_eq!(chat.reply_to("a"), None);
    chat.answer(answered("Hello to you."));
    assert_eq!(chat.accept(said("a", "")), Ok("a".to_owned()));
    assert_eq!(chat.reply_to("a"), Some(ChatReply::new("a", answered("Hello to you."))));
    assert_eq!((chat.next(), chat.messages()), (None, 1));
}

#[test]
fn a_message_without_an_id_gets_a_number() {
    let mut chat = Chat::default();
    let nameless = ChatMessage { id: None, ..said("", "Hello.") };
    assert_eq!(chat.accept(nameless.clone()), Ok("#1".to_owned()));
    assert_eq!(chat.accept(said("2", "Hello.")), Ok("2".to_owned()));
    assert_eq!(chat.accept(nameless), Ok("#3".to_owned()));
    assert_eq!(chat.accept(said("#3", "")), Ok("#3".to_owned()), "it asks again");
}

#[test]
fn ids_that_a_chat_would_give_itself_and_long_ones_are_refused() {
    let mut chat = Chat::default();
    let reason = |accepted| match accepted {
        Err(ChatReply { outcome: ChatOutcome::Refused { reason }, .. }) => reason,
        other => format!("{other:?}"),
    };
    let own = reason(chat.accept(said("#1", "Hello.")));
    assert_eq!(own, "ids that begin with # are assigned by the chat; send the message with another id");
    let long = reason(chat.accept(said(&"x".repeat(257), "Hello.")));
    assert_eq!(long, "the message's id is too long: the limit is 256 bytes");
    assert_eq!(chat.messages(), 0);
}

#[test]
fn what_waits_and_what_is_kept_has_a_limit() {
    let mut chat = Chat::default();
    let long = "x".repeat(100 * 1024);
    assert_eq!(chat.accept(said("a", &long)), Ok("a".to_owned()));
    assert!(matches!(chat.accept(said("b", &long)), Err(ChatReply { outcome: ChatOutcome::Refused { .. }, .. })));
    chat.next();
    chat.answer(answered(&long));
    assert_eq!(chat.accept(said("b", &long)), Ok("b".to_owned()));
    chat.next();
    chat.answer(answered(&long));
    assert_eq!(chat.reply_to("a"), None);
    assert_eq!(chat.reply_to("b").map(|reply| reply.outcome), Some(answered(&long)));
}

#[test]
fn an_answer_that_is_too_large_to_be_carried_still_counts_as_given() {
    let mut chat = Chat::default();
    assert_eq!(chat.accept(said("a", "Tell me all.")), Ok("a".to_owned()));
    chat.next();
    chat.answer(answered(&"x".repeat(200 * 1024)));
    let state = CarriedState::Inline { state: Box::new(RunState::finished("a", Vec::new())) };
    let mut next = Chat::default();
    next.take_over(chat.leave(Carried::new(1, state, None)));
    assert_eq!(next.accept(said("a", "Tell me all.")), Ok("a".to_owned()));
    let outcome = next.reply_to("a").map(|reply| reply.outcome);
    assert!(matches!(&outcome, Some(ChatOutcome::Refused { reason }) if reason.contains("transcript")), "{outcome:?}");
}

#[test]
fn a_chat_that_ends_takes_no_more_messages() {
    let mut chat = Chat { is_ending: true, ..Chat::default() };
    assert!(matches!(chat.accept(said("a", "Hello.")), Err(ChatReply { outcome: ChatOutcome::Refused { .. }, .. })));
}

#[test]
fn what_was_said_before_a_message_is_known_of_the_input_of_its_run() {
    let mut chat = Chat::default();
    assert_eq!(chat.accept(said("a", "Hello.")), Ok("a".to_owned()));
    chat.next();
    let input = [Item::assistant("Welcome."), Item::user("Hello.")];
    assert_eq!(chat.input_before_message(&input), &input[..1]);
    let rewritten = [Item::assistant("Somebody was welcomed and said hello.")];
    assert_eq!(chat.input_before_message(&rewritten), &rewritten);
}
