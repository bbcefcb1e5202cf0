//! `#[guardrail]`: what the SDK learns of a function, and what the function is given.

mod definitions;
mod hygiene;
mod running;
