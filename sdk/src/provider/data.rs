//! The item member for what only the provider of an item understands.
//!
//! Each provider reads what it wrote itself, and leaves the rest at home: conversations go on with other models.

/// The member's name. Chat Completions keeps the members of a message there as they are; others keep theirs under one key.
pub(crate) const PROVIDER_DATA: &str = "provider_data";
/// The key of what the provider over the crate genai keeps.
pub(crate) const GENAI: &str = "genai";
