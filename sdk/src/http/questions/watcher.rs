//! The watcher of the calls that wait, which all readers of a process share.
//!
//! # Design
//! **A look costs pages of the server's list,** and nothing for each run that waits. What had to be
//! asked of a worker or read from a history is kept for as long as the record of the run stays the
//! same; a run for which that has failed is asked again after half a minute.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures::{StreamExt, stream};
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::{MAX_QUERIES, MAX_RUNS, QuestionPlace, RunQuestions, page};
use crate::http::{
    error::ApiError,
    runs::{self, OpenQuestions, Recorded, Row},
    service::Shared,
};

/// The interval between the beginnings of two looks at the open runs. The pause between them is at
/// least as long as a look takes.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of runs that a look returns.
const MAX_WATCHED: usize = 10_000;
/// Time after which a run whose questions could not be read is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// The questions that all callers together may see.
#[derive(Debug, PartialEq)]
pub(super) struct AllQuestions {
    runs: Vec<RunQuestions>,
    /// `true` if more runs wait.
    pub(super) is_cut: bool,
}

impl AllQuestions {
    pub(super) fn iter(&self) -> impl Iterator<Item = &RunQuestions> {
        self.runs.iter()
    }
}

/// The result of a look at the open runs.
type Look = Result<Arc<AllQuestions>, ApiError>;

/// The place of the watcher in the service: it runs while it has a reader.
#[derive(Debug, Default)]
pub(in crate::http) struct QuestionWatch(Mutex<Weak<Watcher>>);

#[derive(Debug)]
struct Watcher {
    looks: watch::Sender<Option<Look>>,
    task: Mutex<Option<AbortHandle>>,
}

/// A reader of the calls that wait.
pub(super) struct Watched {
    looks: watch::Receiver<Option<Look>>,
    _watcher: Arc<Watcher>,
}

/// What a run was asked for, at an earlier look.
struct Asked {
    /// Digest of the run's memo at that time; `None` for a task.
    digest: Option<u64>,
    questions: RunQuestions,
    at: Instant,
}

impl QuestionWatch {
    /// Returns a reader; the first one starts the watcher.
    pub(super) fn subscribe(shared: &Arc<Shared>) -> Watched {
        let mut place = shared.questions.0.lock().unwrap_or_else(PoisonError::into_inner);
        let watcher = place.upgrade().unwrap_or_else(|| {
            let watcher = Arc::new(Watcher { looks: watch::Sender::new(None), task: Mutex::default() });
            let task = tokio::spawn(look(Arc::clone(shared), Arc::downgrade(&watcher)));
            *watcher.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
            *place = Arc::downgrade(&watcher);
            watcher
        });
        let mut looks = watcher.looks.subscribe();
        looks.mark_changed();
        Watched { looks, _watcher: watcher }
    }
}

impl Watched {
    /// Returns the latest look, as soon as it differs from the one before; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<Look> {
        loop {
            self.looks.changed().await.ok()?;
            if let Some(look) = self.looks.borrow_and_update().clone() {
                return Some(look);
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// Looks at the open runs again and again, until the last reader has left.
async fn look(shared: Arc<Shared>, watcher: Weak<Watcher>) {
    let mut asked: BTreeMap<String, Asked> = BTreeMap::new();
    loop {
        let begin = Instant::now();
        let look = all_questions(&shared, &mut asked).await.map(Arc::new);
        let Some(watcher) = watcher.upgrade() else { return };
        watcher.looks.send_if_modified(|latest| {
            let is_same = match (&*latest, &look) {
                (Some(Ok(before)), Ok(now)) => before == now,
                (Some(Err(_)), Err(_)) => true,
                _ => false,
            };
            if !is_same {
                *latest = Some(look);
            }
            !is_same
        });
        drop(watcher);
        let elapsed = begin.elapsed();
        sleep(INTERVAL.saturating_sub(elapsed).max(elapsed)).await;
    }
}

/// Returns the questions of all runs.
async fn all_questions(shared: &Shared, asked: &mut BTreeMap<String, Asked>) -> Result<AllQuestions, ApiError> {
    let mut before = std::mem::take(asked);
    let mut runs: Vec<RunQuestions> = Vec::new();
    let mut to_ask: Vec<(usize, Row)> = Vec::new();
    let mut place = QuestionPlace::begin();
    while !place.is_end() && runs.len() < MAX_WATCHED {
        let (found, rows, next) = page(shared, &|_| true, place, MAX_RUNS).await?;
        place = next;
        runs.extend(found);
        for row in rows {
            let known = before.remove(&row.execution).filter(|known| known.is_current(row.digest));
            if let Recorded::All(questions) = row.recorded {
                runs.push(RunQuestions::new(row.id, Some(OpenQuestions { questions, has_more: false })));
            } else if let Some(known) = known {
                runs.push(known.questions.clone());
                asked.insert(row.execution, known);
            } else {
                runs.push(RunQuestions::new(row.id.clone(), None));
                to_ask.push((runs.len() - 1, row));
            }
        }
    }
    let answers = stream::iter(to_ask).map(|(at, row)| async move {
        let answer = runs::listed_questions(shared, &row).await;
        (at, row.digest, row.execution, RunQuestions::new(row.id, answer.ok()))
    });
    let answers: Vec<_> = answers.buffered(MAX_QUERIES).collect().await;
    for (at, digest, execution, questions) in answers {
        runs[at].clone_from(&questions);
        asked.insert(execution, Asked { digest, questions, at: Instant::now() });
    }
    Ok(AllQuestions { runs, is_cut: !place.is_end() })
}

impl Asked {
    /// Returns `true` if the answer still holds, or the run was asked just now.
    fn is_current(&self, digest: Option<u64>) -> bool {
        let is_same = self.digest.is_some() && self.digest == digest;
        is_same && (!self.questions.is_incomplete || self.at.elapsed() < ASK_AGAIN)
    }
}
