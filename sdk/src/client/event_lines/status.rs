//! The call or the decision that a run waits for, as the last line of a terminal.

use temporal_agents_core::wire::{EventKind, RunEvent};

use super::strings::one_line;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The last line, which is drawn again and again, and removed before each output.
#[derive(Debug, Default)]
pub(super) struct Status {
    frame: usize,
    waits_for: Option<String>,
}

impl Status {
    /// Takes an event into account.
    pub(super) fn event(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::ModelCallScheduled { .. } => {
                self.waits_for = Some(format!("{} waits for the model", start(&event.agent)));
            }
            EventKind::ToolCall { name, .. } => {
                self.waits_for = Some(format!("{} runs {}", start(&event.agent), start(name)));
            }
            EventKind::RunPaused {} => self.waits_for = Some("waits for a decision".to_owned()),
            kind if kind.ends_the_run() && event.path.is_empty() => self.waits_for = None,
            _ => {}
        }
    }

    /// Returns the next frame of the line; `None` if there is nothing to wait for.
    pub(super) fn next_frame(&mut self) -> Option<String> {
        let waits_for = self.waits_for.as_ref()?;
        self.frame = (self.frame + 1) % SPINNER.len();
        Some(format!("{} {waits_for}", SPINNER[self.frame]))
    }
}

/// Returns the beginning of a name, so that the line is not broken.
fn start(name: &str) -> String {
    one_line(name).chars().take(30).collect()
}
