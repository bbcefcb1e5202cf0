//! The integration tests: one binary, so that the Temporal crates are linked once.

mod agent_handlers;
mod cancellation;
mod compile_errors;
mod conformance;
mod durable_run;
mod examples;
mod golden_history;
mod guardrail_macro;
mod guardrails;
mod held_model;
mod hooks;
mod inline_runner;
mod limits;
mod linear_history;
mod loop_rules;
mod model_failures;
mod odd_provider;
mod openai_provider;
mod panics;
mod paused_runs;
mod random_graphs;
mod stored_sessions;
mod support;
mod tidy;
mod tool_macro;
mod wire_golden;
