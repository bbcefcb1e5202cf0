//! Parses the arguments of `#[guardrail(..)]`.

use proc_macro2::{Span, TokenStream};
use syn::{Ident, LitStr, Path};

use crate::{
    activity_options::{ActivityOptions, is_activity_option},
    attribute::{self, Entry, Foreign},
    mistakes::Mistakes,
};

/// Every key, in the order in which the documentation lists them.
const KEYS: [&str; 14] = [
    "input",
    "output",
    "blocking",
    "activity",
    "name",
    "start_to_close",
    "schedule_to_close",
    "heartbeat",
    "attempts",
    "idempotent",
    "task_queue",
    "summary",
    "context",
    "crate",
];

/// Names of other libraries, and the advice for each.
const FOREIGN: [Foreign; 12] = [
    ("input_guardrail", "write `#[guardrail(input)]`"),
    ("output_guardrail", "write `#[guardrail(output)]`"),
    ("run_in_parallel", "input guardrails run concurrently with the first turn, unless you write `blocking`"),
    ("parallel", "input guardrails run concurrently with the first turn, unless you write `blocking`"),
    ("pure", "a guardrail is pure, unless you write `activity`"),
    ("inline", "a guardrail is pure and runs in the workflow, unless you write `activity`"),
    ("timeout", "write `start_to_close = \"20s\"` (one attempt) or `schedule_to_close` (all attempts)"),
    ("retries", "write `attempts = 3`, which includes the first attempt"),
    ("retry", "write `attempts = 3`, which includes the first attempt"),
    ("max_attempts", "write `attempts = 3`"),
    ("maximum_attempts", "write `attempts = 3`"),
    ("queue", "write `task_queue = \"..\"`"),
];

/// The values of the attribute's keys.
#[derive(Default)]
pub(super) struct Keys {
    /// The sides that the attribute names: exactly one, unless there is a mistake.
    sides: Vec<Side>,
    pub(super) blocking: bool,
    pub(super) activity: bool,
    pub(super) name: Option<LitStr>,
    pub(super) options: ActivityOptions,
    pub(super) context: Vec<LitStr>,
    pub(super) krate: Option<Path>,
}

/// The side of a run that a guardrail checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The input of a run.
    Input,
    /// The final output of a run.
    Output,
}

impl Side {
    /// Returns the word for the side, in the attribute and in messages.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

impl Keys {
    /// Parses the arguments of `#[guardrail(..)]`.
    pub(super) fn parse(attribute: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut keys = Self::default();
        let seen = attribute::read(attribute, mistakes, |entry| keys.set(entry));
        keys.refuse_contradictions(&seen, mistakes);
        keys
    }

    /// Returns the side that the guardrail checks, if the attribute names exactly one.
    pub(super) fn side(&self) -> Option<Side> {
        match self.sides[..] {
            [side] => Some(side),
            _ => None,
        }
    }

    fn set(&mut self, entry: &Entry) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "input" => self.add(Side::Input, entry)?,
            "output" => self.add(Side::Output, entry)?,
            "blocking" => self.blocking = entry.flag()?,
            "activity" => self.activity = entry.flag()?,
            "name" => self.name = Some(entry.text()?),
            key if is_activity_option(key) => self.options.set(entry)?,
            "context" => self.context = entry.texts()?,
            "crate" => self.krate = Some(entry.path()?),
            _ => return Err(attribute::unknown_key(&entry.key, &KEYS, &FOREIGN)),
        }
        Ok(())
    }

    fn add(&mut self, side: Side, entry: &Entry) -> syn::Result<()> {
        entry.flag()?;
        self.sides.push(side);
        Ok(())
    }

    fn refuse_contradictions(&self, seen: &[Ident], mistakes: &mut Mistakes) {
        if !seen.iter().any(|key| key == "input" || key == "output") {
            let message = "the kind is missing: write `#[guardrail(input)]` to check the input of a run, \
                           `#[guardrail(output)]` to check its final output";
            mistakes.at(Span::call_site(), message);
        }
        for key in seen {
            match key.to_string().as_str() {
                "output" if self.sides.len() > 1 => {
                    mistakes.on(key, "a guardrail checks either the input or the output: write two functions");
                }
                "blocking" if self.side() == Some(Side::Output) => {
                    let message = "an output guardrail is always awaited before the run ends: remove `blocking`";
                    mistakes.on(key, message);
                }
                word if is_activity_option(word) && !self.activity => {
                    let message = format!(
                        "`{key}` is an option of guardrails that run in an activity; a pure one runs in the workflow. \
                         Remove `{key}`, or add `activity` and write `async fn`"
                    );
                    mistakes.on(key, message);
                }
                "context" if !self.activity => {
                    mistakes.on(key, "a pure guardrail already has the whole run context: remove `context`");
                }
                "attempts" if !self.options.may_repeat() => {
                    mistakes
                        .on(key, "a guardrail with `idempotent = false` has one attempt: remove one of the two keys");
                }
                _ => {}
            }
        }
    }
}
