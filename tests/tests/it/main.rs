//! The integration tests: one binary, so that the Temporal crates are linked once.

mod durable_run;
mod openai_provider;
mod support;
mod tidy;
mod tool_macro;
mod wire_golden;
