//! `#[tool]`: what the model sees of a function, what happens when it is called, and what an author is told.

mod definitions;
mod hygiene;
mod running;
