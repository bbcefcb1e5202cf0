//! The gate of a run: rules, a judge and a mode that decide about each call of a tool.

pub use temporal_agents_core::gate::{Gate, GateMode, JudgeDecision, Judgement, Rule, RuleDecision, UnusedRule};
