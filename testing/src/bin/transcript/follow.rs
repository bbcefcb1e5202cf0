//! A live run in the terminal: its events as they happen, and the texts of messages while models
//! write them.
//!
//! Output to a file or a pipe has no colours, and no last line that names the call under way.

use std::io::ErrorKind;

use temporal_agents::client::event_lines::{PrintError, RunPrinter};
use temporalio_client::Client;

/// Prints the events of a workflow until it has ended. Returns without an error when the reader of
/// the output has gone.
///
/// # Errors
/// [`PrintError`].
pub(crate) async fn follow(client: &Client, workflow_id: &str) -> Result<(), PrintError> {
    match print(client, workflow_id).await {
        Err(PrintError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

async fn print(client: &Client, workflow_id: &str) -> Result<(), PrintError> {
    let mut printer = RunPrinter::new(client, workflow_id);
    printer.print_to_end().await?;
    if let Some(summary) = printer.summary() {
        printer.writer().line(&summary)?;
    }
    Ok(())
}
