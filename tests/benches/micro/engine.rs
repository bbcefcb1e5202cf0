//! The engine: what a turn costs as the conversation grows.

use divan::Bencher;

use crate::talk::Talk;

/// Turns before the one that is measured.
const TURNS: [u32; 3] = [10, 100, 1000];

/// All steps of a turn with a tool.
#[divan::bench(args = TURNS)]
fn turn(bencher: Bencher<'_, '_>, turns: u32) {
    let talk = Talk::after(turns);
    bencher.with_inputs(|| talk.clone()).bench_values(|mut talk| {
        talk.turn();
        talk
    });
}

/// From the state to the model call, the whole conversation in it.
#[divan::bench(args = TURNS)]
fn model_call(bencher: Bencher<'_, '_>, turns: u32) {
    let mut talk = Talk::after(turns);
    talk.up_to_the_model_call();
    bencher.bench_local(|| talk.next());
}
