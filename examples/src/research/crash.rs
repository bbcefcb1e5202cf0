//! Kills the worker with SIGKILL in the middle of the session, and counts the turns that are made
//! again.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context;
use tokio::time::{Instant, sleep};

use super::{checkpoints::Directory, journal::Entry, progress::Progress};
use crate::stage::process::WorkerProcess;

/// The turn in which the worker is killed.
pub const TURN: u32 = 20;
/// Enough for the turns before it on a slow machine, and with a real model.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK: Duration = Duration::from_millis(5);

/// A killed worker.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// Its process id.
    pub worker: u32,
    /// The turn whose model call it had begun last.
    pub turn: u32,
}

/// Waits until a model call of turn [`TURN`] is under way, and kills the worker.
///
/// # Errors
/// The turn is not reached in time.
pub async fn kill_in_the_middle(
    worker: WorkerProcess,
    checkpoints: &Directory,
    progress: &mut Progress,
) -> anyhow::Result<Kill> {
    let deadline = Instant::now() + PATIENCE;
    while last_turn(&progress.look()?) < TURN {
        anyhow::ensure!(Instant::now() < deadline, "turn {TURN} was not reached in time");
        sleep(LOOK).await;
    }
    let pid = worker.pid();
    worker.kill()?;
    let turn = last_turn(&progress.look()?);
    let largest = checkpoints.sizes()?.into_iter().max().context("no checkpoint is in the store")?;
    println!("* SIGKILL for worker 1, in turn {turn}; the largest checkpoint in the store has {largest} bytes");
    Ok(Kill { worker: pid, turn })
}

fn last_turn(entries: &[Entry]) -> u32 {
    entries.iter().map(|entry| entry.turn).max().unwrap_or_default()
}

/// The turns of a session whose worker was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Turns before the crash that were not made again.
    pub kept: BTreeSet<u32>,
    /// Turns that were made again.
    pub repeated: BTreeSet<u32>,
    /// Turns that only the next worker made.
    pub later: BTreeSet<u32>,
}

/// Sorts the turns by the workers that began their model calls.
///
/// # Errors
/// A turn that was complete before the crash was made again.
pub fn count(entries: &[Entry], kill: Kill) -> anyhow::Result<Turns> {
    let of = |is_killed: bool| -> BTreeSet<u32> {
        let turns = entries.iter().filter(|entry| !entry.is_summary && (entry.worker == kill.worker) == is_killed);
        turns.map(|entry| entry.turn).collect()
    };
    let (before, after) = (of(true), of(false));
    let turns = Turns { kept: &before - &after, repeated: &before & &after, later: &after - &before };
    // A model call begins only when the server has a checkpoint of everything before it.
    anyhow::ensure!(turns.repeated.iter().all(|turn| *turn == kill.turn), "repeated turns: {:?}", turns.repeated);
    Ok(turns)
}
