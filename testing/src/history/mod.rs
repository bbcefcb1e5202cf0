//! Conversion between workflow histories and JSON, in the forms that the Temporal UI and CLI export
//! and read.
//!
//! The Rust SDK's own `WorkflowHistory::from_json` reads only the form that the SDK writes.
//! [`from_json`] reads that form *and* Temporal's own (proto3 JSON: the web UI, `temporal workflow
//! show --output json`, the Python, Go and TypeScript SDKs), and [`to_json`] writes Temporal's own.
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
//! No information is lost in the conversion: the reader follows the protobuf descriptors of the API
//! version against which this crate is built, and a field or name that this version does not know
//! is an error that contains its path. Payloads remain encoded: no data converter is applied.

mod descriptors;
mod fetch;
mod file;
mod json;
mod sdk_form;
mod shorthand;
mod walk;

/// The protobuf message of a history, as the Temporal crates define it.
pub use temporalio_common::protos::temporal::api::history::v1::History;

pub use self::fetch::fetch;
pub use self::file::{HistoryFileError, load, load_binary, save};
pub use self::json::{HistoryJsonError, from_json, to_json};

#[cfg(test)]
mod tests;
