//! The item member for data that only the provider of an item understands.
//!
//! Each provider sends back only its own data, and leaves out that of others: a conversation may
//! continue with other models.

/// Name of the member. Chat Completions keeps the members of a message there as they are; other
/// providers keep theirs under one key.
pub(crate) const PROVIDER_DATA: &str = "provider_data";
/// Key of the data of reasoning that a named provider of the Responses API made.
pub(crate) const RESPONSES: &str = "responses";
/// Key of the data of the provider over the crate genai.
pub(crate) const GENAI: &str = "genai";
