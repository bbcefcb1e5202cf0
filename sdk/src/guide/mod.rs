//! Pages for those who run agents in production.

#[doc = include_str!("deploying.md")]
pub mod deploying {}
