//! Micro-benchmarks of what a turn costs: `cargo bench -p temporal-agents-tests --bench micro [NAME]`.
//!
//! | module | what it measures |
//! |---|---|
//! | `engine` | one turn's decisions, and the model call that the state is projected to |
//! | `replay` | the replay of a run's history, per turn |
//! | `rebuild` | reading a conversation of 1,000 items back from history |
//!
//! The last two start dev servers by themselves. Continuous integration only checks that all this compiles.

mod engine;
mod rebuild;
mod replay;
mod talk;

fn main() {
    divan::main();
}
