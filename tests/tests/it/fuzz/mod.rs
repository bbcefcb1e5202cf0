//! Every decoder of bytes from outside gets valid input that was changed at random: never a panic, nothing that grows
//! beyond its input, and what is read is written and read again as the same.
//!
//! `SEEDS=100000 cargo test -p temporal-agents-tests --test it fuzz` plays so many cases of each; without it each takes some
//! seconds. `AGENTS_TEST_SEED=7` plays others. A failure prints the smallest input that was found.
//!
//! | file | decoders |
//! |---|---|
//! | `messages.rs` | every message of every version of the wire contract |
//! | `states.rs` | run states, read and then resumed |
//! | `sessions.rs` | checkpoints of agentic sessions, of this library and of the proposal, with attempts that go on from them |
//! | `schemas.rs` | schemas and values |
//! | `answers.rs` | answers of providers: both APIs of OpenAI, Anthropic's through genai, lists of an MCP server |
//! | `histories.rs` | transcripts of histories |
//! | `payloads.rs` | compressed payloads |

mod answers;
mod cases;
mod documents;
mod histories;
mod messages;
mod payloads;
mod schemas;
mod sessions;
mod states;
