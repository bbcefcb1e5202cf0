//! The table of questions of agentic sessions.

use super::Migration;

/// `question_key` is the id of the question, or a digest of a long one. `ruling` is NULL until
/// somebody decides.
pub(super) const CREATE: Migration = Migration {
    name: "questions-1",
    statements: &[
        "CREATE TABLE agents_session_questions (
            question_key TEXT NOT NULL PRIMARY KEY,
            question_id TEXT NOT NULL,
            workflow_id TEXT NOT NULL,
            call_to_decide TEXT NOT NULL,
            asked_at BIGINT NOT NULL,
            expires_at BIGINT NOT NULL,
            ruling TEXT,
            decided_at BIGINT
        )",
        "CREATE INDEX agents_session_questions_asked ON agents_session_questions (asked_at)",
    ],
};
