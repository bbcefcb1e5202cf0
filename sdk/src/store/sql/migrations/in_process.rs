//! The tables of runs that are tasks of processes.

use super::Migration;

/// A row of `agents_processes` is a process that runs tasks: `beat` increases as long as it lives.
/// A row of `agents_tasks` is a run or a chat; `owner` is the process that runs it, empty for one
/// that waits for nobody's process. `agents_task_events` holds its facts, `agents_task_mail` what
/// was sent to it, each with its answer.
pub(super) const CREATE: Migration = Migration {
    name: "in_process-1",
    statements: &[
        "CREATE TABLE agents_processes (
            process TEXT NOT NULL PRIMARY KEY,
            beat BIGINT NOT NULL
        )",
        "CREATE TABLE agents_tasks (
            task_key TEXT NOT NULL PRIMARY KEY,
            id TEXT NOT NULL,
            execution TEXT NOT NULL,
            is_chat BIGINT NOT NULL,
            agent TEXT NOT NULL,
            labels TEXT NOT NULL,
            request TEXT NOT NULL,
            owner TEXT NOT NULL,
            status TEXT NOT NULL,
            started_at BIGINT NOT NULL,
            ended_at BIGINT,
            outcome TEXT,
            state TEXT,
            inbox TEXT,
            chat TEXT,
            paused TEXT,
            events BIGINT NOT NULL,
            mail BIGINT NOT NULL
        )",
        "CREATE INDEX agents_tasks_by_start ON agents_tasks (started_at)",
        "CREATE INDEX agents_tasks_by_owner ON agents_tasks (owner)",
        "CREATE TABLE agents_task_events (
            task_key TEXT NOT NULL,
            number BIGINT NOT NULL,
            event_key TEXT NOT NULL,
            event TEXT NOT NULL,
            PRIMARY KEY (task_key, number)
        )",
        "CREATE UNIQUE INDEX agents_task_events_by_key ON agents_task_events (task_key, event_key)",
        "CREATE TABLE agents_task_mail (
            task_key TEXT NOT NULL,
            mail_key TEXT NOT NULL,
            number BIGINT NOT NULL,
            body TEXT NOT NULL,
            answer TEXT,
            PRIMARY KEY (task_key, mail_key)
        )",
    ],
};
