//! Prints the events of a workflow as they happen.

use std::io::{self, ErrorKind, Write, stdout};

use temporal_agents::{
    client::{
        RunEvents,
        event_lines::{EventWriter, visible},
    },
    wire::RunEvent,
};
use temporal_agents_testing::ServerAddress;

use crate::stage::server::connect;

/// The form in which events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line, with the cursor from which a reader continues.
    Json,
    /// Lines for people, and the texts of messages while the model writes them.
    Text,
}

/// Prints the facts and the deltas of a workflow, from its beginning or after a cursor, until it has ended. Also
/// returns when the reader of the output has gone.
///
/// # Errors
/// The server cannot be reached, there is no such workflow, or the cursor is invalid.
pub async fn watch(
    address: &ServerAddress,
    namespace: &str,
    workflow_id: &str,
    from: Option<String>,
    format: Format,
) -> anyhow::Result<()> {
    let events = RunEvents::new(&connect(address, namespace, "watch").await?);
    let mut stream = match from {
        Some(cursor) => events.watch_live_from(workflow_id, cursor),
        None => events.watch_live(workflow_id),
    };
    let writer = EventWriter::stdout();
    while let Some(event) = stream.next().await {
        let written = match format {
            Format::Json => print_json(&event?),
            Format::Text => writer.event(&event?),
        };
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    if format == Format::Text {
        writer.end_line()?;
    }
    Ok(())
}

fn print_json(event: &RunEvent) -> io::Result<()> {
    writeln!(stdout(), "{}", visible(&serde_json::to_string(event)?))?;
    stdout().flush()
}
