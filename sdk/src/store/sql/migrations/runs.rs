//! The tables of runs, their events and their messages.

use super::Migration;

/// `run_key` of a run is Temporal's run id of its first execution: a workflow id may be used again.
/// `sequence` is the number of its events, and counts up with each. Times are milliseconds since
/// 1970.
pub(super) const CREATE: Migration = Migration {
    name: "runs-1",
    statements: &[
        "CREATE TABLE agents_runs (
            run_key TEXT NOT NULL PRIMARY KEY,
            namespace TEXT NOT NULL,
            id TEXT NOT NULL,
            mode TEXT NOT NULL,
            workflow_type TEXT NOT NULL,
            task_queue TEXT NOT NULL,
            agent TEXT,
            thread TEXT,
            labels TEXT NOT NULL,
            status TEXT NOT NULL,
            execution TEXT NOT NULL,
            started_at BIGINT NOT NULL,
            ended_at BIGINT,
            output TEXT,
            failure TEXT,
            event_cursor TEXT,
            sequence BIGINT NOT NULL
        )",
        "CREATE INDEX agents_runs_by_id ON agents_runs (namespace, id)",
        "CREATE INDEX agents_runs_by_execution ON agents_runs (execution)",
        "CREATE INDEX agents_runs_by_start ON agents_runs (namespace, started_at, run_key)",
        "CREATE INDEX agents_runs_open ON agents_runs (namespace, run_key) WHERE ended_at IS NULL",
        "CREATE TABLE agents_run_events (
            run_key TEXT NOT NULL,
            sequence BIGINT NOT NULL,
            event_id TEXT NOT NULL,
            event TEXT NOT NULL,
            PRIMARY KEY (run_key, sequence)
        )",
        "CREATE UNIQUE INDEX agents_run_events_once ON agents_run_events (run_key, event_id)",
        "CREATE TABLE agents_messages (
            run_key TEXT NOT NULL,
            sequence BIGINT NOT NULL,
            position BIGINT NOT NULL,
            role TEXT NOT NULL,
            agent TEXT NOT NULL,
            content TEXT NOT NULL,
            item TEXT NOT NULL,
            created_at TEXT NOT NULL,
            PRIMARY KEY (run_key, sequence, position)
        )",
    ],
};

/// `title` is what a person recognises the run by; NULL in rows of earlier builds.
pub(super) const ADD_TITLE: Migration =
    Migration { name: "runs-title", statements: &["ALTER TABLE agents_runs ADD COLUMN title TEXT"] };
