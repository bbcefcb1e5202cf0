//! JSON schemas of tools, handoff inputs and structured outputs: derived from Rust types, made
//! strict, and used for checks.
//!
//! The steps of a schema: [`schema_of`] derives it from a type (or an author supplies one),
//! [`wrap_output`] gives an output schema an object as its root, and [`strict()`] makes it fit a
//! provider's strict mode. The model gets the result. [`parse_arguments`] or [`validate()`] checks
//! the model's answer.
//!
//! Everything here is a pure function over [`serde_json::Value`] and safe in workflow code. The
//! order of object keys is the order of declaration and is kept in all steps: a model writes its
//! answer in the order of the schema.
//!
//! A schema from outside is [measured](measure) before it is accepted.
//!
//! Not supported: the keywords that [`unchecked`] lists, and remote references.

mod arguments;
mod bounds;
mod conform;
mod deserialize;
mod from_type;
mod keywords;
mod output;
mod parts;
mod reference;
mod strict;
mod validate;
mod versions;

pub use arguments::parse_arguments_with;
pub use arguments::{InvalidArguments, InvalidArgumentsKind, parse_arguments};
pub use bounds::{TooLarge, measure};
pub use conform::{Conversions, conform};
pub use deserialize::{NotOfType, deserialize};
pub use from_type::schema_of;
pub use keywords::has_type;
pub use keywords::json_type;
pub use output::{RESPONSE_KEY, wrap_output};
pub use reference::{escaped, percent_decoded, resolve};
pub use strict::{NotStrict, strict};
pub use validate::{Issue, unchecked, validate};
pub use validate::{MAX_ISSUES, Validate, cut_text, cut_value, validate_earlier_keywords, with_integers};
pub use versions::without_texts;
pub use versions::{are_distinguishable, declares_all};

#[cfg(test)]
mod tests;
