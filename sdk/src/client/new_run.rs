//! A run or a chat that is to be started: its request, its id, and the values that the server
//! records beside it: labels, memo, search attributes, summary.
//!
//! # Design
//! **One builder for a Rust client and for `POST /runs`.** Both are checked by [`NewRun::check`],
//! so that neither can start a run that the other one cannot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentRequest, ChatRequest, Item, ItemView, RequestInput, RunMode,
    ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
};
use temporalio_client::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy};
use temporalio_common::{
    MemoValues,
    protos::temporal::api::common::v1::{Payload, SearchAttributes as ProtoSearchAttributes},
    search_attributes::{SearchAttributeUpdate, SearchAttributes},
};

use super::run_attributes::run_attributes;

/// Key of the memo with the name of the start agent.
pub(crate) const AGENT_MEMO: &str = "agents.agent";
/// Key of the memo with the thread of a run.
pub(crate) const THREAD_MEMO: &str = "agents.thread";
/// Key of the memo with the title of a run.
pub(crate) const TITLE_MEMO: &str = "agents.title";
/// Key of the memo with the labels of a run.
pub(crate) const LABELS_MEMO: &str = "agents.labels";
/// First characters of the memo's keys that belong to this crate.
const OWN_MEMO: &str = "agents.";

/// Maximum number of labels, and of bytes in each name and value.
const MAX_LABELS: usize = 16;
const MAX_LABEL_BYTES: usize = 256;
/// Maximum bytes of JSON of the memo; each list of workflows reads it.
const MAX_MEMO_BYTES: usize = 16 * 1024;
/// Maximum number of search attributes.
const MAX_SEARCH_ATTRIBUTES: usize = 16;
/// Maximum bytes of the summary, and of the details.
const MAX_SUMMARY_BYTES: usize = 200;
const MAX_DETAILS_BYTES: usize = 8 * 1024;
/// Maximum characters of the title.
const MAX_TITLE_CHARS: usize = 120;

/// A run or a chat that is to be started.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub(super) request: Request,
    pub(super) id: Option<String>,
    pub(super) mode: Option<RunMode>,
    pub(crate) id_conflict: IdConflict,
    labels: BTreeMap<String, String>,
    memo: BTreeMap<String, Value>,
    search_attributes: BTreeMap<String, Payload>,
    summary: Option<String>,
    details: Option<String>,
    /// The first message of a chat, if the chat begins with it.
    first_message: Option<String>,
    /// `true` if the workflow has the search attributes of runs.
    pub(super) is_indexed: bool,
    /// A problem that the builder has found.
    problem: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Request {
    Run(Box<AgentRequest>),
    Chat(Box<ChatRequest>),
}

/// The effect of starting a run with the id of one that exists.
///
/// JSON: the name in snake case, for example `"use_existing"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum IdConflict {
    /// The caller gets the run of this id, also after its end: nothing is started.
    #[default]
    UseExisting,
    /// The caller gets the run of this id if it has not ended; otherwise a new one is started.
    UseOpen,
    /// Nothing is started, and the caller gets an error.
    Fail,
    /// A run that has not ended is terminated, and a new one is started.
    TerminateOpen,
}

/// The value of a search attribute with its type, as JSON: `{"keyword": "4711"}`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "the API over HTTP reads it"))]
pub(crate) enum TypedAttribute {
    Keyword(String),
    KeywordList(Vec<String>),
    Text(String),
    Int(i64),
    Double(f64),
    Bool(bool),
    /// RFC 3339.
    Datetime(String),
}

impl NewRun {
    /// Returns a run of this request.
    pub fn new(request: AgentRequest) -> Self {
        Self::of(Request::Run(Box::new(request)))
    }

    /// Returns a chat of this request.
    pub fn chat(request: ChatRequest) -> Self {
        Self::of(Request::Chat(Box::new(request)))
    }

    fn of(request: Request) -> Self {
        Self {
            request,
            id: None,
            mode: None,
            id_conflict: IdConflict::default(),
            labels: BTreeMap::new(),
            memo: BTreeMap::new(),
            search_attributes: BTreeMap::new(),
            summary: None,
            details: None,
            first_message: None,
            is_indexed: false,
            problem: None,
        }
    }

    /// Sets the id, which is that of the workflow or of the task. A run that is started again with
    /// the same id is the same run, also after its end, unless [`id_conflict`](Self::id_conflict)
    /// chooses otherwise. Default: a random id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the place of the run: by default that of the [`AgentRuns`](super::AgentRuns).
    #[must_use]
    pub fn mode(mut self, mode: RunMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Sets the effect of an id that a run has already.
    #[must_use]
    pub fn id_conflict(mut self, id_conflict: IdConflict) -> Self {
        self.id_conflict = id_conflict;
        self
    }

    /// Adds a label, which lists of runs show; at most 16, of 256 bytes each. Labels are recorded
    /// in the workflow's memo.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Adds a value to the workflow's memo, at most 16 KiB of JSON in all. Keys that begin with
    /// `agents.` are refused.
    #[must_use]
    pub fn memo(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        let key = key.into();
        match serde_json::to_value(value) {
            Ok(value) => {
                self.memo.insert(key, value);
            }
            Err(error) => self.problem = Some(format!("the memo's value of {key:?} cannot be written: {error}")),
        }
        self
    }

    /// Adds a search attribute of the workflow, which the namespace must know.
    ///
    /// ```
    /// use temporal_agents::{client::NewRun, wire::AgentRequest};
    /// use temporalio_common::search_attributes::SearchAttributeKey;
    ///
    /// const CUSTOMER: SearchAttributeKey<String> = SearchAttributeKey::keyword("CustomerId");
    ///
    /// let request = AgentRequest::new("triage", "Where is my parcel?");
    /// let run = NewRun::new(request).search_attribute(CUSTOMER.value_set("4711".to_owned()));
    /// ```
    #[must_use]
    pub fn search_attribute(mut self, attribute: SearchAttributeUpdate) -> Self {
        let name = attribute.name().to_owned();
        let set = SearchAttributes::new([attribute]).into_proto();
        self.search_attributes.remove(&name);
        self.search_attributes.extend(set.indexed_fields);
        self
    }

    /// Adds a search attribute whose name is not known when the program is compiled.
    #[cfg(feature = "http")]
    pub(crate) fn typed_attribute(mut self, name: String, value: &TypedAttribute) -> Self {
        self.search_attributes.insert(name, value.payload());
        self
    }

    /// Sets the summary of the workflow, one line of at most 200 bytes, which Temporal's own page
    /// shows, and which is the title of the run in lists. Default: the name of the agent; the title is
    /// then the first line of the input. A codec of the client does not encode the summary.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets the details of the workflow, at most 8 KiB of Markdown, which Temporal's own page shows
    /// below the summary. Text of others belongs in a code block there. A codec of the client does
    /// not encode it. Default: none.
    #[must_use]
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Sets the search attributes `AgentName`, `AgentStatus` and `AgentWaitsFor` of the workflow,
    /// which its runs keep up to date: the status is `running`, `waiting`, `completed`, `failed` or
    /// `cancelled`, and who is waited for is `person`, `client` or `nobody`. The namespace must
    /// have them ([`check_run_attributes`](super::check_run_attributes)); their values are plain
    /// text there. A run in a process has none, since its rows have these values. Default: off.
    ///
    /// Open refunds that wait for a person are then found by the query `ExecutionStatus = 'Running'
    /// AND AgentName = 'refunds' AND AgentWaitsFor = 'person'`.
    #[must_use]
    pub fn indexed(mut self) -> Self {
        self.is_indexed = true;
        self
    }

    /// Checks the values beside the request.
    ///
    /// # Errors
    /// A message that says what to change.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let is_long = |(name, value): (&String, &String)| name.len().max(value.len()) > MAX_LABEL_BYTES;
        if self.labels.len() > MAX_LABELS || self.labels.iter().any(is_long) {
            return Err(format!("a run has at most {MAX_LABELS} labels of {MAX_LABEL_BYTES} bytes each"));
        }
        if let Some(key) = self.memo.keys().find(|key| key.is_empty() || key.starts_with(OWN_MEMO)) {
            return Err(format!("the memo's key {key:?} is empty or begins with {OWN_MEMO:?}; choose another one"));
        }
        let memo: usize = self.memo.iter().map(|(key, value)| key.len() + value.to_string().len()).sum();
        if memo > MAX_MEMO_BYTES {
            return Err(format!("the memo of a run has at most {MAX_MEMO_BYTES} bytes of JSON"));
        }
        if self.search_attributes.len() > MAX_SEARCH_ATTRIBUTES {
            return Err(format!("a run has at most {MAX_SEARCH_ATTRIBUTES} search attributes"));
        }
        // With these the server itself finds or hides workflows.
        let is_own = |name: &&String| name.starts_with("Temporal") || **name == "BuildIds";
        if let Some(name) = self.search_attributes.keys().find(is_own) {
            return Err(format!("the search attribute {name:?} is Temporal's own; choose another one"));
        }
        let is_one_line = |summary: &String| summary.len() <= MAX_SUMMARY_BYTES && !summary.contains(['\n', '\r']);
        if !self.summary.as_ref().is_none_or(is_one_line) {
            return Err(format!("the summary is one line of at most {MAX_SUMMARY_BYTES} bytes"));
        }
        if self.details.as_ref().is_some_and(|details| details.len() > MAX_DETAILS_BYTES) {
            return Err(format!("the details are at most {MAX_DETAILS_BYTES} bytes of Markdown"));
        }
        Ok(())
    }

    /// Checks that a process can run this: it has neither a memo nor search attributes.
    ///
    /// # Errors
    /// A message that says what to change.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn check_in_process(&self) -> Result<(), String> {
        self.check()?;
        if !self.memo.is_empty() || !self.search_attributes.is_empty() {
            return Err("a run in a process has neither a memo nor search attributes; use labels".to_owned());
        }
        match self.id_conflict {
            IdConflict::UseExisting | IdConflict::Fail => Ok(()),
            IdConflict::UseOpen | IdConflict::TerminateOpen => {
                Err("the id of a run in a process is used once; choose \"use_existing\" or \"fail\"".to_owned())
            }
        }
    }

    /// Returns the request and the labels.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn into_parts(self) -> (Request, BTreeMap<String, String>) {
        (self.request, self.labels)
    }

    pub(crate) fn workflow_type(&self) -> &'static str {
        match &self.request {
            Request::Run(_) => AGENT_WORKFLOW,
            Request::Chat(_) => CHAT_WORKFLOW,
        }
    }

    pub(super) fn memo_values(&self) -> MemoValues {
        let mut memo = MemoValues::new();
        for (key, value) in &self.memo {
            memo.insert(key, value.clone());
        }
        if let Some(agent) = self.agent() {
            memo.insert(AGENT_MEMO, agent.to_owned());
        }
        if let Some(thread) = self.thread() {
            memo.insert(THREAD_MEMO, thread.to_owned());
        }
        if !self.labels.is_empty() {
            memo.insert(LABELS_MEMO, self.labels.clone());
        }
        if let Some(title) = self.title() {
            memo.insert(TITLE_MEMO, title);
        }
        memo
    }

    /// Sets the first message of a chat that begins with it.
    pub(crate) fn first_message(mut self, text: &str) -> Self {
        self.first_message = title_of(text);
        self
    }

    /// Returns what a person recognises the run by: the summary, or else the first line of the first
    /// message of the user. It is recorded in the workflow's memo, as the labels are.
    pub(crate) fn title(&self) -> Option<String> {
        if let Some(summary) = &self.summary {
            return title_of(summary);
        }
        match &self.request {
            Request::Chat(_) => self.first_message.clone(),
            Request::Run(request) => match &request.input {
                RequestInput::Text(text) => title_of(text),
                input => input.items().iter().filter(|item| is_of_user(item)).find_map(|item| title_of(&item.text()?)),
            },
        }
    }

    pub(super) fn search_attributes(&self) -> Option<SearchAttributes> {
        let mut indexed_fields = self.search_attributes.clone();
        if self.is_indexed {
            let own = run_attributes(self.agent().unwrap_or_default());
            indexed_fields.extend(SearchAttributes::new(own).into_proto().indexed_fields);
        }
        let indexed_fields = indexed_fields.into_iter().collect();
        (self.is_indexed || !self.search_attributes.is_empty()).then(|| ProtoSearchAttributes { indexed_fields }.into())
    }

    pub(super) fn static_summary(&self) -> Option<String> {
        self.summary.clone().or_else(|| self.agent().map(str::to_owned))
    }

    pub(super) fn static_details(&self) -> Option<String> {
        self.details.clone()
    }

    /// Returns the labels.
    #[cfg(all(feature = "http", any(feature = "postgres", feature = "sqlite")))]
    pub(crate) fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Returns the thread that the run continues.
    pub(crate) fn thread(&self) -> Option<&str> {
        match &self.request {
            Request::Run(request) => request.thread.as_deref(),
            Request::Chat(request) => request.thread.as_deref(),
        }
    }

    /// Returns the name of the start agent, if the request names one in the code.
    pub(crate) fn agent(&self) -> Option<&str> {
        match &self.request {
            Request::Run(request) => request.agent.as_deref(),
            Request::Chat(request) => request.agent.as_deref(),
        }
    }
}

/// Returns the first line of a text that has one, at most 120 characters of it.
pub(crate) fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|character| !character.is_control()).take(MAX_TITLE_CHARS).collect())
}

fn is_of_user(item: &Item) -> bool {
    matches!(item.view(), ItemView::Message { role: "user", .. })
}

impl IdConflict {
    /// Returns the server's policies for a run that is open, and for one that has ended.
    pub(super) fn policies(self) -> (WorkflowIdConflictPolicy, WorkflowIdReusePolicy) {
        match self {
            Self::UseExisting => (WorkflowIdConflictPolicy::UseExisting, WorkflowIdReusePolicy::RejectDuplicate),
            Self::UseOpen => (WorkflowIdConflictPolicy::UseExisting, WorkflowIdReusePolicy::AllowDuplicate),
            Self::Fail => (WorkflowIdConflictPolicy::Fail, WorkflowIdReusePolicy::RejectDuplicate),
            Self::TerminateOpen => (WorkflowIdConflictPolicy::TerminateExisting, WorkflowIdReusePolicy::AllowDuplicate),
        }
    }
}

#[cfg(feature = "http")]
impl TypedAttribute {
    /// Returns the value as the server reads it: JSON, with the type beside it.
    fn payload(&self) -> Payload {
        use serde_json::json;

        let (kind, value) = match self {
            Self::Keyword(value) => ("Keyword", json!(value)),
            Self::KeywordList(value) => ("KeywordList", json!(value)),
            Self::Text(value) => ("Text", json!(value)),
            Self::Int(value) => ("Int", json!(value)),
            Self::Double(value) => ("Double", json!(value)),
            Self::Bool(value) => ("Bool", json!(value)),
            Self::Datetime(value) => ("Datetime", json!(value)),
        };
        let metadata = [("encoding", "json/plain"), ("type", kind)];
        Payload {
            metadata: metadata.into_iter().map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect(),
            data: value.to_string().into_bytes(),
            ..Payload::default()
        }
    }
}

#[cfg(test)]
mod tests;
