//! Deltas in heartbeats.

use crate::wire::{EventKind, RunEvent, delta_window::DeltaWindow};

pub(in crate::wire::tests) fn delta_windows() -> Vec<(&'static str, DeltaWindow)> {
    let delta =
        EventKind::TextDelta { message_id: "k3x9q2ab/2-model/0".to_owned(), attempt: 2, delta: "12 deg".to_owned() };
    let mut delta = RunEvent::new(delta);
    delta.run = "k3x9q2ab".to_owned();
    (delta.agent, delta.turn, delta.time) = ("desk".to_owned(), 2, "2026-11-23T12:00:00Z".to_owned());
    let progress = "Streaming LLM response: 240 chunks, 5,120 characters".to_owned();
    let elsewhere = DeltaWindow { progress: progress.clone(), ..DeltaWindow::new(1) };
    let window = DeltaWindow { progress, first: 17, deltas: vec![delta], ..DeltaWindow::new(2) };
    vec![("progress", elsewhere), ("deltas", window)]
}
