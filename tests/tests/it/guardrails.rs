//! Guardrails of runs on a real server: what is scheduled, what is cancelled, and what the run ends with.

mod beside;
mod blocking;
mod by_agent;
mod failures;
mod judges_of_a_run;
mod kept_inputs;
mod keys;
mod known;
mod output;
mod pure;
mod support;
mod tool_calls;
