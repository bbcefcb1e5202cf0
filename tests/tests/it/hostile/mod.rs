//! Input of the worst kind, from callers, models and servers: it ends in a typed error, in little memory.
//!
//! Each case is two halves in one file: a test, which plays the attacker and holds what it needs (servers, files), and a
//! function of [`victim::CASES`], which runs in a process of its own and takes the attack. The peak of the victim's memory
//! is printed (`cargo test -p temporal-agents-tests --test it hostile -- --nocapture`) and bounded; a victim that hangs is
//! killed, and one that asks for memory without end is refused it, so that a regression does not take the machine along.

mod forged;
mod mcp;
mod payloads;
mod providers;
mod schemas;
mod secrets;
pub(crate) mod server;
mod traced;
mod victim;
