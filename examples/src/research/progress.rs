//! Prints the journal while it grows.

use std::io;

use super::journal::{Entry, Journal};

/// The part of a journal that has been printed.
#[derive(Debug)]
pub struct Progress {
    journal: Journal,
    printed: usize,
    /// Process ids, in the order in which the workers appeared.
    workers: Vec<u32>,
}

impl Progress {
    /// Prints nothing yet.
    pub fn new(journal: Journal) -> Self {
        Self { journal, printed: 0, workers: Vec::new() }
    }

    /// Prints the answers that are new, one a line, and returns all entries.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn look(&mut self) -> io::Result<Vec<Entry>> {
        let entries = self.journal.entries()?;
        for entry in &entries[self.printed..] {
            let worker = self.number_of(entry.worker);
            let Some(answer) = &entry.answer else { continue };
            let summary = if entry.is_summary { "the conversation is shortened: " } else { "" };
            println!("worker {worker} · turn {:>2} · {summary}{answer}", entry.turn);
        }
        self.printed = entries.len();
        Ok(entries)
    }

    fn number_of(&mut self, worker: u32) -> usize {
        let known = self.workers.iter().position(|known| *known == worker);
        known.unwrap_or_else(|| {
            self.workers.push(worker);
            self.workers.len() - 1
        }) + 1
    }
}
