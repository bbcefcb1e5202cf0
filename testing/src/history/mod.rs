//! Workflow histories as JSON, both ways: what the Temporal UI and CLI export, and what they can read.
//!
//! The Rust SDK's own `WorkflowHistory::from_json` reads only the form that it writes itself. Here [`from_json`] reads
//! that form *and* Temporal's own (proto3 JSON: the web UI, `temporal workflow show --output json`, the Python, Go and
//! TypeScript SDKs), and [`to_json`] writes Temporal's own.
//!
//! A history becomes a replay test in two lines:
//!
//! ```no_run
//! # fn example() -> Result<(), temporal_agents_testing::history::HistoryFileError> {
//! use temporal_agents_testing::history;
//! use temporalio_client::WorkflowHistory;
//!
//! let exported = history::load("tests/histories/refund.json")?;
//! let replayable = WorkflowHistory::from(exported);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is lost on the way: reading is driven by the protobuf descriptors of the API version that this crate is built
//! against, and a field or name that this version does not know is an error that says where it is. Payloads are kept as
//! they are, encoded: no data converter takes part.

mod descriptors;
mod fetch;
mod file;
mod json;
mod sdk_form;
mod shorthand;
mod walk;

/// The protobuf message of a history, as the Temporal crates have it.
pub use temporalio_common::protos::temporal::api::history::v1::History;

pub use self::fetch::fetch;
pub use self::file::{HistoryFileError, load, load_binary, save};
pub use self::json::{HistoryJsonError, from_json, to_json};

#[cfg(test)]
mod tests;
