//! Each binding of a tool with each outcome of a call, on the dev server: what the model sees, of what kind a failure is, what history holds, how
//! the run ends; and each history replays, as workers with and without a cache do.
//!
//! | file | what it holds |
//! |---|---|
//! | `table.md` | what is expected, for people to read |
//! | `cells.rs` | bindings, outcomes, and why some pairs have no meaning |
//! | `agents.rs` | the agent of each binding |
//! | `bodies.rs` | what the tools do, in activities and in the workflow |
//! | `elsewhere.rs` | a worker on another task queue: an activity and a workflow that know nothing of agents |
//! | `mcp.rs` | an MCP server |
//! | `model.rs` | the model's part |
//! | `play.rs` | plays one cell |
//! | `seen.rs` | what was seen of it, as a line of the table |
//!
//! A new binding is a line in `cells.rs`, an agent in `agents.rs`, and a section in `table.md`. Nexus operations, whose handler is a Python worker, have
//! the same outcomes in `tool_bindings/nexus.rs`.

mod agents;
mod bodies;
mod cells;
mod elsewhere;
mod mcp;
mod model;
mod play;
mod seen;

use std::path::Path;

use futures::{StreamExt, stream};

use self::{
    cells::{Binding, Cell, Outcome},
    play::Stage,
};

/// How many cells are played at a time.
const AT_ONCE: usize = 40;

fn table_file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tool_matrix/table.md")
}

/// The table as it should be. With `TOOL_MATRIX=write` it is written anew, to be read before it is kept.
#[tokio::test]
async fn each_binding_with_each_outcome_is_as_the_table_says() -> anyhow::Result<()> {
    bodies::without_backtraces();
    let stage = Stage::start().await?;
    let pairs = Binding::ALL.into_iter().flat_map(|binding| Outcome::ALL.map(|outcome| Cell { binding, outcome }));
    let lines: Vec<String> = stream::iter(pairs)
        .map(|cell| {
            let stage = &stage;
            async move {
                match cell.has_no_meaning() {
                    Some(reason) => seen::no_cell(cell, reason),
                    None => match stage.play(cell).await {
                        Ok(seen) => seen.line(),
                        Err(error) => format!("| {} | could not be played: {error:#} |", cell.outcome.name()),
                    },
                }
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let found = seen::table(&lines);
    stage.end().await?;
    if std::env::var("TOOL_MATRIX").is_ok_and(|how| how == "write") {
        std::fs::write(table_file(), &found)?;
    }
    let expected = std::fs::read_to_string(table_file())?;
    let differ: Vec<String> = expected
        .lines()
        .zip(found.lines())
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("expected {expected}\nfound    {found}"))
        .collect();
    assert!(differ.is_empty(), "{} lines of table.md differ:\n{}", differ.len(), differ.join("\n"));
    assert_eq!(expected.lines().count(), found.lines().count(), "table.md has as many lines as there are cells");
    Ok(())
}
