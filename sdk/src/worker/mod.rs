//! Real effects: what runs in activities.

pub mod model;
pub use model::{Model, ModelError, ModelProvider};
