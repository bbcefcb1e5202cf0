//! A file with every model call of every worker, from which progress is printed and repeated calls
//! are counted.
//!
//! No part of the session needs it: a session continues from its checkpoint.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use temporal_agents::{
    provider::{Model, ModelError, ModelProvider},
    wire::{Item, ItemView, ModelCall, ModelFailureKind, ModelResponse},
};

/// A file with one line of JSON for each model call that begins, and one for each that is answered.
#[derive(Clone, Debug)]
pub struct Journal {
    path: PathBuf,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Process id of the worker.
    pub worker: u32,
    /// The turn of the call.
    pub turn: u32,
    /// `true` for the summary of a compaction, which is no turn of its own.
    pub is_summary: bool,
    /// The answer in short; absent when the call begins.
    pub answer: Option<String>,
}

impl Journal {
    /// Returns the journal in this file, which is created with the first entry.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns all entries.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        match fs::read_to_string(&self.path) {
            // A line that is being written is left out.
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn add(&self, call: &ModelCall, answer: Option<String>) -> Result<(), ModelError> {
        let entry = Entry { worker: std::process::id(), turn: call.turn, is_summary: is_summary(call), answer };
        let written = serde_json::to_string(&entry).map_err(io::Error::from).and_then(|line| {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            file.write_all(format!("{line}\n").as_bytes())
        });
        written.map_err(|error| ModelError::new(ModelFailureKind::Internal, "no journal").caused_by(error))
    }
}

/// Returns `true` for the call of a compaction, the only one that offers no tools.
pub fn is_summary(call: &ModelCall) -> bool {
    call.definitions.tools.is_empty()
}

/// A provider whose calls are written to a journal.
pub struct Journalled<P> {
    pub provider: P,
    pub journal: Journal,
}

impl<P: ModelProvider> ModelProvider for Journalled<P> {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        async move {
            let journal = self.journal.clone();
            let model = self.provider.model(name).await?;
            Ok(model.map(|model| Arc::new(JournalledModel { model, journal }) as Arc<dyn Model>))
        }
        .boxed()
    }

    fn name(&self) -> Option<&str> {
        self.provider.name()
    }
}

struct JournalledModel {
    model: Arc<dyn Model>,
    journal: Journal,
}

impl Model for JournalledModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        async move {
            self.journal.add(&call, None)?;
            let response = self.model.call(call.clone()).await?;
            let answer: Vec<String> = response.output.iter().filter_map(summary_of).collect();
            self.journal.add(&call, Some(answer.join(", ")))?;
            Ok(response)
        }
        .boxed()
    }
}

fn summary_of(item: &Item) -> Option<String> {
    match item.view() {
        ItemView::FunctionCall(call) => Some(format!("{}({})", call.name, call.arguments)),
        _ => item.text(),
    }
}
