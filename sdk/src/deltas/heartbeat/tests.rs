use temporal_agents_core::wire::{EventKind, RunEvent, delta_window::DeltaWindow, size::encoded_len};

use super::{MAX_WINDOW_BYTES, Window};

fn text(bytes: usize) -> RunEvent {
    let (message_id, delta) = ("r/1-model/0".to_owned(), "x".repeat(bytes));
    RunEvent::new(EventKind::TextDelta { message_id, attempt: 1, delta })
}

#[test]
fn a_window_holds_the_latest_deltas_with_their_numbers() {
    let (mut window, mut details) = (Window::default(), DeltaWindow::new(1));
    (0..100).for_each(|_| window.add(text(500)));
    window.write(&mut details);
    assert!(encoded_len(&details.deltas).is_ok_and(|bytes| bytes <= MAX_WINDOW_BYTES + 200));
    assert_eq!(details.first + details.deltas.len() as u64, 100);
    // A delta that is larger than the window leaves it at once, and a reader sees the hole.
    window.add(text(MAX_WINDOW_BYTES));
    window.write(&mut details);
    assert_eq!((details.first, details.deltas.len()), (101, 0));
}
