//! The guide: one chapter for each subject, for readers with a specific question.
//!
//! | chapter | subject |
//! |---|---|
//! | [`first_agent`] | Temporal's words; the smallest complete program, how to run and embed it |
//! | [`hosts`] | `Runner`, `AgenticSession` and `InlineRunner` compared; coming from Python |
//! | [`tools`] | kinds of tools, their options, client tools, tools without an agent |
//! | [`failures`] | retries, messages for the model, limits, crashes, deploys |
//! | [`handoffs`] | handoffs and agents as tools |
//! | [`guardrails`] | checks of inputs, outputs and tool calls |
//! | [`approvals`] | interruptions: tool calls that wait for people |
//! | [`agents_as_data`] | agents in a store, edited while workers run |
//! | [`memory`] | sessions: conversations that outlive a run |
//! | [`long_runs`] | continue-as-new, compaction, the ready-made workflows, chats |
//! | [`mcp`] | tools of MCP servers |
//! | [`remote_tools`] | tools of providers that cannot be Temporal workers, over streams |
//! | [`agentic_sessions`] | the whole loop inside one activity |
//! | [`providers`] | OpenAI, Anthropic, Gemini, compatible servers, providers of your own |
//! | [`secrets`] | what history holds, redaction, encryption |
//! | [`deploying`] | what may change while runs are open |
//! | [`testing`] | scripted models, a real server, replay |
//! | [`service`] | runs over HTTP, frontends, the page, who may do what |
//! | [`watching`] | the events of a run, live and later |
//! | [`streams`] | items that a workflow streams, for subscribers in any language |
//! | [`transcripts`] | reading the history of a run |
//! | [`tracing`] | traces of OpenTelemetry, live and from history |
//! | [`metrics`] | metrics of runs, and what models cost |
//!
//! The code of all chapters is compiled and run as documentation tests of the crate
//! `temporal-agents-testing`, which depends on all crates that the chapters use.

#[cfg_attr(not(doctest), doc = include_str!("first_agent.md"))]
pub mod first_agent {}

#[cfg_attr(not(doctest), doc = include_str!("hosts.md"))]
pub mod hosts {}

#[cfg_attr(not(doctest), doc = include_str!("tools.md"))]
pub mod tools {}

#[cfg_attr(not(doctest), doc = include_str!("failures.md"))]
pub mod failures {}

#[cfg_attr(not(doctest), doc = include_str!("handoffs.md"))]
pub mod handoffs {}

#[cfg_attr(not(doctest), doc = include_str!("guardrails.md"))]
pub mod guardrails {}

#[cfg_attr(not(doctest), doc = include_str!("approvals.md"))]
pub mod approvals {}

#[cfg_attr(not(doctest), doc = include_str!("agents_as_data.md"))]
pub mod agents_as_data {}

#[cfg_attr(not(doctest), doc = include_str!("memory.md"))]
pub mod memory {}

#[cfg_attr(not(doctest), doc = include_str!("long_runs.md"))]
pub mod long_runs {}

#[cfg_attr(not(doctest), doc = include_str!("mcp.md"))]
pub mod mcp {}

#[cfg_attr(not(doctest), doc = include_str!("remote_tools.md"))]
pub mod remote_tools {}

#[cfg_attr(not(doctest), doc = include_str!("agentic_sessions.md"))]
pub mod agentic_sessions {}

#[cfg_attr(not(doctest), doc = include_str!("providers.md"))]
pub mod providers {}

#[cfg_attr(not(doctest), doc = include_str!("secrets.md"))]
pub mod secrets {}

#[cfg_attr(not(doctest), doc = include_str!("deploying.md"))]
pub mod deploying {}

#[cfg_attr(not(doctest), doc = include_str!("testing.md"))]
pub mod testing {}

#[cfg_attr(not(doctest), doc = include_str!("service.md"))]
pub mod service {}

#[cfg_attr(not(doctest), doc = include_str!("watching.md"))]
pub mod watching {}

#[cfg_attr(not(doctest), doc = include_str!("streams.md"))]
pub mod streams {}

#[cfg_attr(not(doctest), doc = include_str!("transcripts.md"))]
pub mod transcripts {}

#[cfg_attr(not(doctest), doc = include_str!("tracing.md"))]
pub mod tracing {}

#[cfg_attr(not(doctest), doc = include_str!("metrics.md"))]
pub mod metrics {}
