//! What the crate logs, for tests: all lines of the process, from warnings on, in one place. A test finds its own by names that it alone uses.

use std::{
    io,
    sync::{Mutex, Once, PoisonError},
};

use tracing_subscriber::{layer::SubscriberExt, util::SubscriberInitExt};

use crate::rolling_deploys::warned::Warnings;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static INSTALLED: Once = Once::new();

/// Begins to keep what is logged. Runs log on threads of their own, so there is one subscriber for all tests.
pub(crate) fn keep() {
    INSTALLED.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
            .with_ansi(false)
            .without_time()
            .with_writer(|| Line)
            .finish()
            .with(Warnings)
            .init();
    });
}

/// The lines so far that contain this string.
pub(crate) fn with(text: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    lines.iter().filter(|line| line.contains(text)).cloned().collect()
}

struct Line;

impl io::Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        LINES.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
