//! An agent reviews a pull request, and posts its comments after a person has approved them.
//!
//! Two ways to host the same agent: [`session`] runs it inside one activity, which is called by a
//! workflow without any agent code; [`durable`] runs it in the workflow. The two differ in a few
//! lines: compare [`session::Reviews::review`] with [`durable::ReviewedPullRequest::run`].

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "#[workflow_methods] and #[activities] generate items without either"
)]

pub mod durable;
pub mod model;
pub mod session;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use temporal_agents::{Agent, State, Tool, ToolError, tool, tool::ToolContext};

/// The pull request, and the comments on it. It stands in for a forge whose API takes an
/// idempotency key.
#[derive(Clone, Debug, Default)]
pub struct Forge {
    files: Arc<BTreeMap<&'static str, &'static str>>,
    comments: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Forge {
    /// Returns a pull request with two files.
    pub fn new() -> Self {
        let files = BTreeMap::from([
            ("src/retry.rs", "loop {\n    if send().is_ok() { break }\n}\n"),
            ("src/limit.rs", "pub const LIMIT: usize = 10;\n"),
        ]);
        Self { files: Arc::new(files), ..Self::default() }
    }

    /// Returns the files that changed.
    pub fn changed(&self) -> Vec<String> {
        self.files.keys().map(ToString::to_string).collect()
    }

    /// Returns the comments, in the order of their idempotency keys.
    pub fn comments(&self) -> Vec<String> {
        self.comments.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// Reads a file of the pull request.
#[tool]
async fn read_file(State(forge): State<Forge>, path: String) -> Result<String, ToolError> {
    let file = forge.files.get(&*path).ok_or_else(|| ToolError::tell_model(format!("{path} has not changed")))?;
    Ok((*file).to_owned())
}

/// Posts a comment on a line of a file, for everybody to see.
#[tool]
async fn post_comment(
    State(forge): State<Forge>,
    ctx: &ToolContext,
    path: String,
    line: u32,
    comment: String,
) -> Result<String, ToolError> {
    // A retry of the call has the same key, so it does not post a second comment.
    let key = ctx.info().idempotency_key().to_owned();
    let mut comments = forge.comments.lock().unwrap_or_else(PoisonError::into_inner);
    comments.insert(key, format!("{path}:{line}: {comment}"));
    Ok("posted".to_owned())
}

/// Returns the reviewer, which is the same on both hosts.
pub fn reviewer() -> Agent {
    Agent::new("reviewer")
        .model("gpt-5-mini")
        .instructions("You review pull requests. Read each changed file, comment on what must change, and sum up in one sentence.")
        .tool(read_file)
        .tool(post_comment.needs_approval())
}

/// Returns the question for the reviewer.
pub fn question(changed: &[String]) -> String {
    format!("These files have changed: {}", changed.join(", "))
}
