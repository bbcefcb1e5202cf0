//! When a follower of a run's events looks for a problem.

use std::time::Duration;

use temporal_agents_core::wire::RunProblem;
use tokio::time::{Instant, sleep_until};

/// Time without an event after which a follower looks for a problem. Each pause after a look that
/// finds none is twice the pause before it, up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(4);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Says when a follower of a run's events looks for the problem of the run, and what is new of it.
///
/// Nothing is requested while events come. A run that waits costs a look after 4, 8, 16 seconds, and
/// then every 30; one with a problem, every 4 seconds, so that the end of the problem is seen.
#[derive(Clone, Debug)]
pub(crate) struct QuietWatch {
    next: Instant,
    pause: Duration,
    shown: Option<RunProblem>,
}

impl Default for QuietWatch {
    fn default() -> Self {
        Self { next: Instant::now() + FIRST_PAUSE, pause: FIRST_PAUSE, shown: None }
    }
}

impl QuietWatch {
    /// Waits until a look is due. May be dropped and called again.
    pub(crate) async fn is_due(&self) {
        sleep_until(self.next).await;
    }

    /// Notes that an event has come. Returns `true` if it ends a problem that was shown.
    pub(crate) fn event_came(&mut self) -> bool {
        let was_shown = self.shown.take().is_some();
        *self = Self::default();
        was_shown
    }

    /// Notes the result of a look. Returns what is to be shown: a problem that is new, or `None` for
    /// one that has ended.
    #[expect(clippy::option_option, reason = "the outer says whether there is news, the inner what problem is left")]
    pub(crate) fn looked(&mut self, problem: Option<RunProblem>) -> Option<Option<RunProblem>> {
        self.pause = if problem.is_some() { FIRST_PAUSE } else { MAX_PAUSE.min(self.pause * 2) };
        self.next = Instant::now() + self.pause;
        let told = |problem: &Option<RunProblem>| problem.as_ref().map(|problem| (problem.kind, problem.agent.clone()));
        if told(&self.shown) == told(&problem) {
            return None;
        }
        self.shown.clone_from(&problem);
        Some(problem)
    }
}

#[cfg(test)]
mod tests {
    use super::QuietWatch;
    use temporal_agents_core::wire::{RunProblem, RunProblemKind};

    fn problem(message: &str) -> RunProblem {
        RunProblem::new(RunProblemKind::NoWorker, message, "start one")
    }

    #[tokio::test(start_paused = true)]
    async fn a_problem_is_shown_once_and_its_end_too() {
        let mut watch = QuietWatch::default();
        watch.is_due().await;
        assert_eq!(watch.looked(None), None);
        assert_eq!(watch.looked(Some(problem("a"))), Some(Some(problem("a"))));
        // Only the numbers in its text have changed.
        assert_eq!(watch.looked(Some(problem("b"))), None);
        assert_eq!(watch.looked(None), Some(None));
        assert!(!watch.event_came());
        assert_eq!(watch.looked(Some(problem("a"))), Some(Some(problem("a"))));
        assert!(watch.event_came());
    }
}
