//! The model calls and tool calls of a workflow by agent and turn, read from its history, live or
//! saved.
//!
//! A history refers to messages that it already holds, and is therefore hard to read. A
//! [`Transcript`] resolves these references through the client's data converter, and checks the
//! result as a worker does. It decides nothing and changes nothing.
//!
//! | file | content |
//! |---|---|
//! | `shape.rs` | the parts of a transcript, which are its JSON |
//! | `fetch.rs` | the events of a workflow, page by page |
//! | `events.rs` | the records of its events (`client/history/`), by activity |
//! | `assemble.rs`, `conversation.rs` | activities to runs, turns, items |
//! | `approvals.rs` | the approval requests and their decisions |
//! | `request.rs` | one call as the provider received it |
//! | `timeline/` | the transcript as an image |
//! | `markdown/` | the transcript as Markdown |

mod approvals;
mod assemble;
mod conversation;
mod events;
mod fetch;
mod markdown;
pub(crate) mod request;
mod shape;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::wire::{ModelCall, Usage, error_debug};
use temporalio_client::Client;
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::history::v1::History};

#[cfg(feature = "otel")]
pub(crate) use self::shape::McpListing;
pub use self::shape::{
    Activity, Approval, Call, End, GuardrailCall, Run, SessionCall, Status, ToolKind, ToolUse, Turn,
};
pub(crate) use self::shape::{Times, Tripped};
#[cfg(feature = "http")]
pub(crate) use self::timeline::FactTimeline;
use crate::conversations::{ReadError, Recorded};

/// The model calls and tool calls of one workflow run.
///
/// [`Display`](std::fmt::Display) writes it as Markdown; as JSON it is an object with the members
/// below.
///
/// ```no_run
/// use temporal_agents::client::transcript::Transcript;
/// # async fn example(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let transcript = Transcript::of_workflow(client, "refund-7", None).await?;
/// println!("{transcript}");
/// println!("{}", serde_json::to_string_pretty(&transcript)?);
/// let third = transcript.request_of(3)?; // the complete request
/// assert_eq!(third.agent, "refunds");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Transcript {
    /// Id of the workflow; empty in histories of old servers.
    pub workflow_id: String,
    /// Id of the workflow run.
    pub run_id: String,
    /// Id of the workflow's first run: a different one if the workflow has continued as new.
    pub first_run_id: String,
    /// Id of the workflow run that this one continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_from: Option<String>,
    /// Name of the workflow's type.
    pub workflow_type: String,
    /// Input of the workflow: one value, or an array of several. A value that is not JSON is shown
    /// as an object with its encoding and its size in bytes.
    pub input: Value,
    /// The runs of agents in the order in which they began; nested runs after the run that contains
    /// them.
    pub runs: Vec<Run>,
    /// The approval requests and decisions for calls that are not in this history: those of hosted
    /// MCP servers, and of the previous execution.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// Token usage of all model calls.
    pub usage: Usage,
    /// Status and result of the workflow run.
    pub end: End,
    /// Times of the workflow run.
    #[serde(skip)]
    pub(crate) times: Times,
    /// Context of the trace to which the workflow belongs, from the header of its start.
    #[serde(skip)]
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
    pub(crate) tracer_data: BTreeMap<String, String>,
    /// The guardrails that have tripped, in order.
    #[serde(skip)]
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
    pub(crate) tripped: Vec<Tripped>,
    /// Ids of the outermost runs that have ended.
    #[serde(skip)]
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
    pub(crate) ended_runs: BTreeSet<String>,
    #[serde(skip)]
    recorded: Recorded,
}

/// The error of a transcript or a request that cannot be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// There is no such workflow, or no such run of it.
    #[error(
        "there is no workflow {workflow_id:?}{} in namespace {namespace:?}; check the id and the namespace. A run \
         that has ended is deleted after the namespace's retention period",
        .run_id.as_deref().map(|run_id| format!(" with a run {run_id:?}")).unwrap_or_default()
    )]
    NotFound {
        /// Id of the workflow.
        workflow_id: String,
        /// Id of the requested run, if any.
        run_id: Option<String>,
        /// Namespace of the client.
        namespace: String,
    },
    /// The server has refused the request, or is unavailable.
    #[error("the workflow's history cannot be read: {0}")]
    Server(#[from] tonic::Status),
    /// The events are not the history of a workflow, or not from its beginning.
    #[error("the history has no WorkflowExecutionStarted event: it is empty or incomplete")]
    NoStart,
    /// The data converter does not decode the payloads of a message.
    #[error(
        "{what} cannot be decoded (encoding {encodings}): {why}; if payloads are encrypted or compressed, use a \
         client, or a DataConverter, with the codec of the workers"
    )]
    Encoded {
        /// Name of the message, for example `the request of activity k3x9q2ab-1-model`.
        what: String,
        /// The encodings of its payloads, separated by commas.
        encodings: String,
        /// The error of the data converter.
        why: String,
    },
    /// A message has the version of another release, or is malformed.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// Name of the message.
        what: String,
        /// Description of the error.
        why: String,
    },
    /// The number is not that of a model call.
    #[error("there is no model call {number}: {}", match .calls {
        0 => "the history has none".to_owned(),
        calls => format!("the history has {calls}, counted from 1"),
    })]
    NoCall {
        /// The requested number.
        number: u32,
        /// Number of model calls in the history.
        calls: u32,
    },
    /// The call is a local activity, whose request is not in history.
    #[error("model call {number} was a local activity ({activity_id}): history does not hold its request")]
    Local {
        /// Number of the model call.
        number: u32,
        /// Id of its activity.
        activity_id: String,
    },
    /// A part that the request refers to is not in the history, or does not match its digest.
    #[error("model call {number} ({activity_id}) cannot be assembled: {why}")]
    Incomplete {
        /// Number of the model call.
        number: u32,
        /// Id of its activity.
        activity_id: String,
        /// Description of the missing or mismatched part.
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
    pub(super) fn unreadable(what: String, why: &dyn std::fmt::Display) -> Self {
        Self::Unreadable { what, why: why.to_string() }
    }
}

impl Transcript {
    /// Creates the transcript of a saved history. `converter` decodes its payloads: use the data
    /// converter of the workers, with their codec.
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

    /// Reads the transcript of a workflow up to now, with this client and its data converter.
    /// Without a run id, it reads the latest run.
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

    /// Reads the transcripts of a workflow that has continued as new: of all its runs up to this
    /// one, in order. Runs that the server no longer has are left out; the first transcript then
    /// names the run that it continues.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub async fn of_chain(
        client: &Client,
        workflow_id: &str,
        run_id: Option<&str>,
    ) -> Result<Vec<Self>, TranscriptError> {
        Self::chain(client, workflow_id, run_id, usize::MAX).await
    }

    /// Reads the transcripts of the latest runs of a workflow, at most so many, in order.
    ///
    /// # Errors
    /// [`TranscriptError`].
    #[cfg(feature = "http")]
    pub(crate) async fn latest_of_chain(
        client: &Client,
        workflow_id: &str,
        most: usize,
    ) -> Result<Vec<Self>, TranscriptError> {
        Self::chain(client, workflow_id, None, most).await
    }

    async fn chain(
        client: &Client,
        workflow_id: &str,
        run_id: Option<&str>,
        most: usize,
    ) -> Result<Vec<Self>, TranscriptError> {
        let mut chain = vec![Self::of_workflow(client, workflow_id, run_id).await?];
        while let Some(before) = chain.last().and_then(|transcript| transcript.continued_from.clone())
            && chain.len() < most
        {
            match Self::of_workflow(client, workflow_id, Some(&before)).await {
                Ok(transcript) => chain.push(transcript),
                Err(TranscriptError::NotFound { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        chain.reverse();
        Ok(chain)
    }

    /// Returns the model calls in the order of their numbers.
    pub fn calls(&self) -> Vec<&Call> {
        let turns = self.runs.iter().flat_map(|run| &run.turns);
        let mut calls: Vec<&Call> = turns.flat_map(|turn| &turn.calls).collect();
        calls.sort_by_key(|call| call.number);
        calls
    }

    /// Returns the complete model call with this number, as the provider received it: assembled
    /// from the parts in history, and checked against the digest that the workflow wrote.
    ///
    /// # Errors
    /// [`TranscriptError`] when there is no such call, or history does not hold all of it.
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

    /// Returns the transcript as Markdown.
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
