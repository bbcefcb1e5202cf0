//! The tables of runs that are tasks of processes.

use super::Migration;

/// A row of `agents_processes` is a process that runs tasks: `beat` increases as long as it lives.
/// A row of `agents_tasks` belongs to one of `agents_runs` (`run`), and is what runs it:
/// `task_owner` is the process, empty for a task that none runs. `agents_task_mail` is what was
/// sent to a task, each with its answer.
pub(super) const CREATE: Migration = Migration {
    name: "in_process-1",
    statements: &[
        "CREATE TABLE agents_processes (
            process TEXT NOT NULL PRIMARY KEY,
            beat BIGINT NOT NULL
        )",
        "CREATE TABLE agents_tasks (
            task_key TEXT NOT NULL PRIMARY KEY,
            run TEXT NOT NULL,
            task_owner TEXT NOT NULL,
            request TEXT NOT NULL,
            state TEXT,
            inbox TEXT,
            chat TEXT,
            paused TEXT,
            mail BIGINT NOT NULL
        )",
        "CREATE INDEX agents_tasks_by_owner ON agents_tasks (task_owner)",
        "CREATE INDEX agents_tasks_by_run ON agents_tasks (run)",
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

/// `begun` is 1 once an effect of the task may have been made: a task without one is begun by
/// whoever finds it. Existing tasks count as begun. `last_write` is the id of the latest write of
/// the owner, `specs` the record of an agent as data.
pub(super) const BEGUN: Migration = Migration {
    name: "in_process-2",
    statements: &[
        "ALTER TABLE agents_tasks ADD COLUMN begun BIGINT NOT NULL DEFAULT 1",
        "ALTER TABLE agents_tasks ADD COLUMN last_write TEXT",
        "ALTER TABLE agents_tasks ADD COLUMN specs TEXT",
    ],
};

/// `questions` are the open questions of the task as lists show them, of bounded size; NULL for a
/// task that waits for nobody. `state` has all of them in full.
pub(super) const ADD_QUESTIONS: Migration =
    Migration { name: "in_process-questions", statements: &["ALTER TABLE agents_tasks ADD COLUMN questions TEXT"] };
