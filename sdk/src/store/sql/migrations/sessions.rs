//! The tables of sessions.

use super::Migration;

/// `next_position` of a session is the number of its items; its row is the lock of writers. A row
/// of `agents_session_writes` is a write that was made.
pub(super) const CREATE: Migration = Migration {
    name: "sessions-1",
    statements: &[
        "CREATE TABLE agents_sessions (
            session_id TEXT NOT NULL PRIMARY KEY,
            next_position BIGINT NOT NULL
        )",
        "CREATE TABLE agents_session_items (
            session_id TEXT NOT NULL,
            position BIGINT NOT NULL,
            item TEXT NOT NULL,
            PRIMARY KEY (session_id, position)
        )",
        "CREATE TABLE agents_session_writes (
            session_id TEXT NOT NULL,
            write_key TEXT NOT NULL,
            PRIMARY KEY (session_id, write_key)
        )",
    ],
};
