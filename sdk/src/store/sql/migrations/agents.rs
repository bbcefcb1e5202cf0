//! The table of agents as data.

use super::Migration;

/// A row is a version of an agent, and is never changed. `spec` is JSON, `created_at` in
/// milliseconds since 1970.
pub(super) const CREATE: Migration = Migration {
    name: "agents-1",
    statements: &["CREATE TABLE agents_specs (
            name TEXT NOT NULL,
            version BIGINT NOT NULL,
            spec TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            author TEXT,
            PRIMARY KEY (name, version)
        )"],
};
