//! What was said and done in a workflow, by agent and turn: from its history, live or saved.
//!
//! A history refers to what it holds already, so it is no pleasure to read. A [`Transcript`] puts it together again, through the
//! client's data converter, and checks what it puts together as a worker does. It decides nothing and changes nothing.
//!
//! | file | what it holds |
//! |---|---|
//! | `shape.rs` | the parts of a transcript, which are its JSON |
//! | `fetch.rs` | the events of a workflow, page by page |
//! | `events.rs`, `messages.rs`, `failure.rs` | from events to activities, with what they were asked and what they answered |
//! | `activity_id.rs`, `assemble.rs`, `conversation.rs` | from activities to runs, turns and what was new in each |
//! | `approvals.rs` | what people were asked and have decided |
//! | `request.rs` | one call as the provider got it |
//! | `markdown/` | the same for people |

mod activity_id;
mod approvals;
mod assemble;
mod conversation;
mod events;
mod failure;
mod fetch;
mod markdown;
mod messages;
mod request;
mod shape;

use serde::Serialize;
use serde_json::Value;
use temporalio_client::Client;
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::history::v1::History};

#[cfg(feature = "openai")]
pub use self::request::openai_request_body;
pub use self::{
    request::request_json,
    shape::{Activity, Approval, Call, End, Failure, GuardrailCall, Run, SessionCall, Status, ToolKind, ToolUse, Turn},
};
use crate::conversations::{ReadError, Recorded};
use crate::wire::{ModelCall, Usage, error_debug};

/// What was said and done in one workflow run.
///
/// As text it is Markdown ([`Display`](std::fmt::Display)); as JSON it is an object with the members below.
///
/// ```no_run
/// use temporal_agents::worker::Transcript;
/// # async fn example(client: &temporalio_client::Client) -> Result<(), Box<dyn std::error::Error>> {
///
/// let transcript = Transcript::of_workflow(client, "refund-7", None).await?;
/// println!("{transcript}");
/// println!("{}", serde_json::to_string_pretty(&transcript)?);
/// let third = transcript.request_of(3)?; // what the model got, in full
/// assert_eq!(third.agent, "refunds");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Transcript {
    /// The workflow's id; empty in histories of old servers.
    pub workflow_id: String,
    /// The id of the run.
    pub run_id: String,
    /// The id of the first run of this workflow: another one, where it has continued as new.
    pub first_run_id: String,
    /// The id of the run that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<String>,
    /// The workflow's type.
    pub workflow_type: String,
    /// What the workflow was given.
    pub input: Value,
    /// The runs of agents, in the order in which they began; those inside another one after it.
    pub runs: Vec<Run>,
    /// What was asked and decided about calls that are not in this history: those of hosted MCP servers, and of the execution before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What all model calls have used.
    pub usage: Usage,
    /// How the workflow run stands.
    pub end: End,
    #[serde(skip)]
    recorded: Recorded,
}

/// Why there is no transcript, or no request.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// There is no such workflow, or no such run of it.
    #[error(
        "there is no workflow {workflow_id:?}{} in namespace {namespace:?}; is the id right, and the namespace? A run that ended is \
         gone after the namespace's retention period",
        .run_id.as_deref().map(|run_id| format!(" with a run {run_id:?}")).unwrap_or_default()
    )]
    NotFound {
        /// The workflow.
        workflow_id: String,
        /// The run that was asked for.
        run_id: Option<String>,
        /// Where it was looked for.
        namespace: String,
    },
    /// The server refused, or could not be reached.
    #[error("the workflow's history cannot be read: {0}")]
    Server(#[from] tonic::Status),
    /// It is no history of a workflow, or not from its beginning.
    #[error("the history has no WorkflowExecutionStarted event: it is empty, or not whole")]
    NoStart,
    /// Payloads that the data converter does not decode.
    #[error(
        "{what} cannot be decoded (encoding {encodings}): {why}; if payloads are encrypted or compressed, use a client, or a \
         DataConverter, with the codec of the workers"
    )]
    Encoded {
        /// Which message.
        what: String,
        /// The encodings of its payloads.
        encodings: String,
        /// What the data converter says.
        why: String,
    },
    /// A message that is of another release, or broken.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// Which message.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// There are fewer model calls.
    #[error("there is no model call {number}: {}", match .calls {
        0 => "the history has none".to_owned(),
        calls => format!("the history has {calls}, counted from 1"),
    })]
    NoCall {
        /// The number asked for.
        number: u32,
        /// How many there are.
        calls: u32,
    },
    /// A call of a local activity, whose request history does not hold.
    #[error("model call {number} was a local activity ({activity_id}): history does not hold what it was given")]
    Local {
        /// The call.
        number: u32,
        /// Its activity.
        activity_id: String,
    },
    /// What a request refers to is not in the history, or is not what was meant.
    #[error("model call {number} ({activity_id}) cannot be put together: {why}")]
    Incomplete {
        /// The call.
        number: u32,
        /// Its activity.
        activity_id: String,
        /// What is wrong.
        why: String,
    },
}

error_debug!(enum TranscriptError {
    NotFound { workflow_id, run_id, namespace },
    Server(source),
    NoStart,
    Encoded { what, encodings, why },
    Unreadable { what, why },
    NoCall { number, calls },
    Local { number, activity_id },
    Incomplete { number, activity_id, why },
});

impl TranscriptError {
    fn unreadable(what: String, why: &dyn std::fmt::Display) -> Self {
        Self::Unreadable { what, why: why.to_string() }
    }
}

impl Transcript {
    /// The transcript of a saved history, whose payloads this converter decodes: that of the workers, with their codec.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub async fn of_history(history: History, converter: &DataConverter) -> Result<Self, TranscriptError> {
        let mut events = events::Events::new(converter);
        for event in history.events {
            events.take(event).await?;
        }
        assemble::transcript(events)
    }

    /// The transcript of a workflow as far as it has come, read with this client and its data converter; without a run id of
    /// its latest run.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub async fn of_workflow(
        client: &Client,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Self, TranscriptError> {
        fetch::transcript(client, workflow_id, run_id).await
    }

    /// The transcripts of a workflow that has continued as new: of all its runs up to this one, the first one first. Runs that
    /// the server does not have any more are left out; the first transcript then says which run it continues.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub async fn of_chain(
        client: &Client,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Vec<Self>, TranscriptError> {
        let mut chain = vec![Self::of_workflow(client, workflow_id, run_id).await?];
        while let Some(before) = chain.last().and_then(|transcript| transcript.continued_from.clone()) {
            match Self::of_workflow(client, workflow_id, Some(&before)).await {
                Ok(transcript) => chain.push(transcript),
                Err(TranscriptError::NotFound { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        chain.reverse();
        Ok(chain)
    }

    /// The model calls, in the order of their numbers.
    pub fn calls(&self) -> Vec<&Call> {
        let turns = self.runs.iter().flat_map(|run| &run.turns);
        let mut calls: Vec<&Call> = turns.flat_map(|turn| &turn.calls).collect();
        calls.sort_by_key(|call| call.number);
        calls
    }

    /// The model call of this number, complete, as the provider got it: put together from what history holds, and checked
    /// against the digest that the workflow wrote.
    ///
    /// # Errors
    /// [`TranscriptError`]: no such call, or history does not hold all of it.
    pub fn request_of(&self, number: u32) -> Result<ModelCall, TranscriptError> {
        let calls = self.calls();
        let Some(call) = calls.iter().find(|call| call.number == number) else {
            let calls = u32::try_from(calls.len()).unwrap_or(u32::MAX);
            return Err(TranscriptError::NoCall { number, calls });
        };
        let activity_id = call.activity.id.clone();
        match self.recorded.call(&activity_id, None) {
            None => Err(TranscriptError::Local { number, activity_id }),
            Some(Err(error)) => Err(TranscriptError::Incomplete { number, activity_id, why: words(&error.error) }),
            Some(Ok(call)) => Ok(call),
        }
    }

    /// The transcript as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::transcript(self)
    }
}

impl std::fmt::Display for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_markdown())
    }
}

fn words(error: &ReadError) -> String {
    match error {
        ReadError::Request(error) => error.to_string(),
        ReadError::Unavailable(error) => error.to_string(),
    }
}
