//! The table of decisions that hold beyond their run.

use super::Migration;

/// `subject` is a digest of the calls that the decision is about.
pub(super) const CREATE: Migration = Migration {
    name: "decisions-1",
    statements: &["CREATE TABLE agents_kept_decisions (
            user_id TEXT NOT NULL,
            subject TEXT NOT NULL,
            decision TEXT NOT NULL,
            arguments TEXT NOT NULL,
            kept_at BIGINT NOT NULL,
            PRIMARY KEY (user_id, subject)
        )"],
};
