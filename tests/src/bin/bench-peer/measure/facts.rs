//! Reads figures from the history of a run: its length, its size, and the size of the last
//! activity's input.

use std::{fs, path::Path};

use anyhow::Context;
use prost::Message;
use temporal_agents_testing::history::{self, History};
use temporalio_client::{Client, WorkflowDescribeOptions, WorkflowHandle};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use super::{Column, table::Table};

/// Adds the figures of a run to the table, and writes the run's history to a file for replays.
pub(super) async fn note(
    client: &Client,
    handle: &WorkflowHandle<Client, Column>,
    workload: &str,
    column: Column,
    file: &Path,
    table: &mut Table,
) -> anyhow::Result<()> {
    let description = handle.describe(WorkflowDescribeOptions::default()).await?.into_raw();
    let info = description.workflow_execution_info.context("the server describes no execution")?;
    let history = history::fetch(client, &handle.info().workflow_id, None).await?;
    fs::write(file, history.encode_to_vec())?;
    let facts = [
        ("history events", u32::try_from(info.history_length)?),
        ("history bytes", u32::try_from(info.history_size_bytes)?),
        ("last activity's input, bytes", u32::try_from(last_input(&history))?),
    ];
    for (what, value) in facts {
        table.note(&format!("{workload} {what}"), column, value.into());
    }
    Ok(())
}

fn last_input(history: &History) -> usize {
    let last = history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => scheduled.input.as_ref(),
        _ => None,
    });
    last.map_or(0, Message::encoded_len)
}
