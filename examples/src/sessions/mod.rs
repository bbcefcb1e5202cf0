//! A chat with a library that outlives its histories: the session holds the conversation, and after
//! some exchanges the workflow continues as new, with the session as its input.
//!
//! Questions come as updates, one after another, and the answer is the update's result. A history
//! that never ends would become slow and then too long; here it holds [`EXCHANGES`] exchanges, and
//! the session the whole conversation. (The whole session is in the workflow's input: a session
//! that may grow beyond 2 MB belongs in an external store.)

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use temporal_agents::{Agent, Runner, run::MemorySession, tool, tool::BoxError};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult};

/// Number of exchanges per history. A real chat would call `ctx.continue_as_new_suggested()`, which
/// returns `true` after thousands of events.
pub const EXCHANGES: u32 = 2;

/// Books about a subject: title, author, pages.
#[tool]
async fn find_books(subject: String) -> Vec<(&'static str, &'static str, u32)> {
    match &*subject {
        "islands" => vec![("The Summer Book", "Tove Jansson", 170), ("The Outrun", "Amy Liptrot", 280)],
        _ => vec![],
    }
}

/// Puts a book aside for the reader. Gives the shelf.
#[tool]
async fn reserve(title: String) -> String {
    format!("{title}: shelf 12, until Saturday")
}

pub fn librarian() -> Agent {
    Agent::new("librarian")
        .model("gpt-5-mini")
        .instructions("You help readers of a public library.")
        .tool(find_books)
        .tool(reserve)
}

#[workflow]
#[derive(Debug, Default)]
pub struct Chat {
    session: MemorySession,
    answered: u32,
    is_answering: bool,
    is_over: bool,
}

#[workflow_methods]
impl Chat {
    #[init]
    pub fn new(_ctx: &WorkflowContextView, session: MemorySession) -> Self {
        Self { session, ..Self::default() }
    }

    /// Waits until the chat is over. Returns the number of items of the whole conversation.
    #[run(name = "sessions")]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<usize> {
        ctx.wait_condition(|chat| chat.is_over || chat.answered >= EXCHANGES).await?;
        ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
        let session = ctx.state(|chat| chat.session.clone());
        if ctx.state(|chat| chat.is_over) {
            return Ok(session.items().len());
        }
        match ctx.continue_as_new(session, ContinueAsNewOptions::default())? {}
    }

    /// Asks a question, and returns the answer.
    #[update]
    pub async fn ask(ctx: &mut WorkflowContext<Self>, question: String) -> Result<String, BoxError> {
        ctx.wait_condition(|chat| !chat.is_answering).await?;
        let session = ctx.state_mut(|chat| {
            chat.is_answering = true;
            chat.session.clone()
        });
        let answer = Runner::new(ctx).session(&session).run(&librarian(), question).await;
        ctx.state_mut(|chat| {
            chat.is_answering = false;
            chat.answered += 1;
        });
        Ok(answer?.final_output)
    }

    /// Ends the chat.
    #[signal]
    pub fn leave(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_over = true;
    }
}
