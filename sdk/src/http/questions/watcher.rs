//! The watcher of the calls that wait, which all readers of a process share.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::watch, task::AbortHandle, time::sleep};

use super::Question;
use crate::http::{error::ApiError, runs, service::Shared};

/// The interval between two looks at the open runs.
const INTERVAL: Duration = Duration::from_secs(2);

/// The result of a look at the open runs.
type Look = Result<Arc<Vec<Question>>, ApiError>;

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
    // The questions of each execution at the latest look, for the time in which it cannot be read.
    let mut known: BTreeMap<String, Vec<Question>> = BTreeMap::new();
    loop {
        let look = match runs::open_runs(&shared, |_| true).await {
            Ok(found) => questions(found, &mut known).map(Arc::new),
            Err(error) => Err(error),
        };
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
        sleep(INTERVAL).await;
    }
}

/// Returns the questions of all runs. A run that cannot be read keeps the questions that it had.
fn questions(
    found: Vec<runs::OpenRun>,
    known: &mut BTreeMap<String, Vec<Question>>,
) -> Result<Vec<Question>, ApiError> {
    let mut before = std::mem::take(known);
    let mut all = Vec::new();
    let mut failed = None;
    for run in found {
        let of_run = match run.calls {
            Ok(calls) => calls.iter().map(|call| Question::of_run(&run.id, call)).collect(),
            Err(error) => {
                let Some(questions) = before.remove(&run.execution) else {
                    failed = Some(error);
                    continue;
                };
                questions
            }
        };
        all.extend(of_run.iter().cloned());
        known.insert(run.execution, of_run);
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(all),
    }
}
