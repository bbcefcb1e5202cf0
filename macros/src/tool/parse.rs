//! Parses the arguments of `#[tool(..)]`.

use proc_macro2::TokenStream;
use syn::{Expr, Ident, LitStr, Path};

use crate::{
    activity_options::{ActivityOptions, is_activity_option},
    attribute::{self, Entry, Foreign},
    mistakes::Mistakes,
};

/// Every key, in the order in which the documentation lists them.
const KEYS: [&str; 17] = [
    "name",
    "description",
    "inline",
    "client",
    "workflow",
    "local",
    "lenient",
    "start_to_close",
    "schedule_to_close",
    "heartbeat",
    "attempts",
    "idempotent",
    "task_queue",
    "summary",
    "context",
    "needs_approval",
    "crate",
];

/// Names of other libraries, and the advice for each.
const FOREIGN: [Foreign; 10] = [
    ("timeout", "write `start_to_close = \"20s\"` (one attempt) or `schedule_to_close` (all attempts)"),
    ("retries", "write `attempts = 3`, which includes the first attempt"),
    ("retry", "write `attempts = 3`, which includes the first attempt"),
    ("max_attempts", "write `attempts = 3`"),
    ("maximum_attempts", "write `attempts = 3`"),
    ("queue", "write `task_queue = \"..\"`"),
    ("desc", "write `description = \"..\"`"),
    ("strict", "schemas are strict unless you write `lenient`"),
    ("approval", "write `needs_approval`, or `needs_approval = euros > 50` with a condition over the arguments"),
    (
        "require_approval",
        "write `needs_approval`, or `needs_approval = euros > 50` with a condition over the arguments",
    ),
];

/// The calls that wait for a decision.
pub(super) enum Approval {
    /// All calls.
    Always,
    /// Calls for which this condition over the arguments is true.
    When(Box<Expr>),
}

/// The values of the attribute's keys.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "an attribute has flags, and contradictions are reported all at once"
)]
pub(super) struct Keys {
    pub(super) name: Option<LitStr>,
    pub(super) description: Option<LitStr>,
    pub(super) inline: bool,
    pub(super) client: bool,
    pub(super) workflow: bool,
    pub(super) lenient: bool,
    pub(super) options: ActivityOptions,
    pub(super) context: Vec<LitStr>,
    pub(super) approval: Option<Approval>,
    pub(super) krate: Option<Path>,
}

impl Keys {
    /// Parses the arguments of `#[tool(..)]`.
    pub(super) fn parse(attribute: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut keys = Self::default();
        let seen = attribute::read(attribute, mistakes, |entry| keys.set(entry));
        keys.refuse_contradictions(&seen, mistakes);
        keys
    }

    fn set(&mut self, entry: &Entry) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "name" => self.name = Some(entry.text()?),
            "description" => self.description = Some(entry.text()?),
            "inline" => self.inline = entry.flag()?,
            "client" => self.client = entry.flag()?,
            "workflow" => self.workflow = entry.flag()?,
            "local" => self.options.set_local(entry.flag()?),
            "lenient" => self.lenient = entry.flag()?,
            key if is_activity_option(key) => self.options.set(entry)?,
            "context" => self.context = entry.texts()?,
            "needs_approval" => {
                self.approval =
                    Some(entry.condition()?.map_or(Approval::Always, |condition| Approval::When(Box::new(condition))));
            }
            "crate" => self.krate = Some(entry.path()?),
            _ => return Err(attribute::unknown_key(&entry.key, &KEYS, &FOREIGN)),
        }
        Ok(())
    }

    fn refuse_contradictions(&self, seen: &[Ident], mistakes: &mut Mistakes) {
        for key in seen {
            match key.to_string().as_str() {
                "inline" | "workflow" if self.client => {
                    let message = format!(
                        "a client tool runs at the caller, but `{key}` tools run in the workflow: remove one of the \
                         two keys"
                    );
                    mistakes.on(key, message);
                }
                word if self.client && (is_activity_option(word) || ["context", "local"].contains(&word)) => {
                    let message = format!("a client tool runs at the caller, without an activity: remove `{key}`");
                    mistakes.on(key, message);
                }
                "workflow" if self.inline => {
                    let message = "`inline` and `workflow` tools both run in the workflow; keep `inline` for a plain \
                                   `fn`, or `workflow` for an `async fn` that waits for timers, activities or child \
                                   workflows";
                    mistakes.on(key, message);
                }
                "local" if self.inline || self.workflow => {
                    mistakes.on(
                        key,
                        "`local` is for activity tools, and this tool runs in the workflow: remove one of the two",
                    );
                }
                "heartbeat" if self.options.is_local() => {
                    mistakes.on(key, "a local activity has no heartbeat: remove `heartbeat`, or remove `local`");
                }
                "task_queue" if self.options.is_local() => {
                    let message = "a local activity runs on the worker that runs the workflow: remove `task_queue`, \
                                   or remove `local`";
                    mistakes.on(key, message);
                }
                "idempotent" if self.options.is_local() && !self.options.may_repeat() => {
                    let message = "a local activity runs again when its workflow task is lost, regardless of its \
                                   attempts, so it must be idempotent: remove `local`, or remove `idempotent = false`";
                    mistakes.on(key, message);
                }
                word if self.workflow && is_activity_option(word) => {
                    let message = format!(
                        "`{key}` is an option of activity tools; a workflow tool runs in the workflow. Remove `{key}` \
                         and set it on what the tool calls, `ctx.activity(RemoteActivity::named(..).{key}(..), ..)`, \
                         or remove `workflow`"
                    );
                    mistakes.on(key, message);
                }
                "context" if self.workflow => {
                    mistakes.on(key, "a workflow tool already has the whole run context: remove `context`");
                }
                word if self.inline && is_activity_option(word) => {
                    let message = format!(
                        "`{key}` is an option of activity tools; an inline tool runs in the workflow, without an \
                         activity. Remove `{key}`, or remove `inline` and write `async fn`"
                    );
                    mistakes.on(key, message);
                }
                "context" if self.inline => {
                    mistakes.on(key, "an inline tool already has the whole run context: remove `context`");
                }
                "attempts" if !self.options.may_repeat() => {
                    mistakes.on(key, "a tool with `idempotent = false` has one attempt: remove one of the two keys");
                }
                _ => {}
            }
        }
    }
}
