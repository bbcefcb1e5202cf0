//! Resolves the references in a model request to the conversation: from memory, otherwise from the
//! workflow's history.
//!
//! Each assembled conversation is checked against the digest in the request before a model receives
//! it, and only then remembered. When a part is unavailable, the activity fails with
//! `ConversationUnavailable`, and the workflow sends the definitions, or the entire request, again.
//!
//! | file | content |
//! |---|---|
//! | `wanted.rs` | the contents that a request refers to, and the check of the parts found |
//! | `pending.rs` | an input whose references are being resolved to items |
//! | `cache.rs` | the worker's memory, up to a size |
//! | `shared_definitions.rs` | definitions that several runs have |
//! | `ended.rs` | removes the conversations of workflow runs that have ended |
//! | `history.rs` | reads missing parts from history, newest event first |
//! | `states.rs` | states in chunks, converted to the items in them |
//! | `recorded.rs` | resolves the references within an entire history in memory |
//! | `newest_first.rs` | the pages of a history |
//!
//! # Design
//! New items that are together over 1.5 MiB are first recorded in portions of at most 1 MiB (one
//! item, if it is larger), each by an activity `agents.record_items` that does nothing: history
//! holds its input. Definitions that a deploy has changed in the middle of a run are sent again,
//! while the conversation is still sent by reference (activity `<id>-definitions`). When history
//! does not hold items, or holds other items than the workflow expects, the entire conversation is
//! sent (`<id>-full`). When that fails as well, the run fails.
//!
//! A worker that calls models therefore needs the permission to read histories
//! (`GetWorkflowExecutionHistoryReverse`). Without it, small conversations are sent in full
//! whenever the cache does not have them, and a conversation that needs portions fails the run.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod cache;
mod ended;
mod history;
mod newest_first;
mod pending;
mod recorded;
mod shared_definitions;
mod states;
mod wanted;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use temporal_agents_core::wire::{
    Definitions, InputSegment, Item, ModelCall, ModelRequest, ModelResponse, ToolOutput,
    conversation::{CallPart, WORTH_A_REFERENCE},
    definitions::DefinitionsPart,
    failure::ConversationPart,
    model_call::UnfoldError,
};
use temporalio_client::Client;
use temporalio_sdk::activities::{ActivityContext, ActivityInfo};
use tokio::sync::Semaphore;
use tonic::Code;

use self::{
    cache::Cache,
    history::MissingDefinitions,
    pending::Pending,
    wanted::{Found, Wanted},
};
pub(crate) use self::{
    cache::RunKey,
    ended::ForgetEnded,
    history::{HistoryError, details_of},
    newest_first::NewestFirst,
    recorded::{NotWhole, Recorded},
};

/// The default size of the cache, in bytes.
const DEFAULT_BYTES: usize = 64 * 1024 * 1024;
/// The number of attempts to decode a message.
const ATTEMPTS_TO_DECODE: u32 = 5;
/// The maximum number of conversations that are read from history at the same time.
const MAX_CONCURRENT_REBUILDS: usize = 4;

/// The conversations that a worker remembers. Clones share them, so several workers of a process
/// can use one cache.
///
/// A model request refers to items that history already holds. A worker that has made the previous
/// calls remembers these items; any other worker reads them from the workflow's history. Default 64
/// MiB.
///
/// ```
/// use temporal_agents::{AgentsPlugin, worker::ConversationCache};
///
/// let cache = ConversationCache::with_bytes(256 * 1024 * 1024);
/// let plugin = AgentsPlugin::default().conversation_cache(cache.clone());
/// assert_eq!(cache.counters().misses, 0);
/// ```
#[derive(Clone, Debug)]
pub struct ConversationCache(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    cache: Mutex<Cache>,
    /// The locks that limit each workflow run to one rebuild at a time.
    rebuilding: Mutex<HashMap<RunKey, Weak<tokio::sync::Mutex<()>>>>,
    rebuilds: Semaphore,
    hits: AtomicU64,
    misses: AtomicU64,
    rebuilt_bytes: AtomicU64,
    rebuilt_pages: AtomicU64,
    /// The counters that metrics have taken.
    counted: Mutex<ConversationCacheStats>,
}

/// The counters of a [`ConversationCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationCacheStats {
    /// Number of requests whose references were all remembered.
    pub hits: u64,
    /// Number of requests for which history was read.
    pub misses: u64,
    /// Size of the messages that were decoded from history, in bytes.
    pub rebuilt_bytes: u64,
    /// Number of pages of history that were read.
    pub rebuilt_pages: u64,
    /// Size of the text that is remembered now, in bytes.
    pub remembered_bytes: u64,
}

/// The error of a request that cannot be turned back into the original call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The request itself is invalid.
    #[error(transparent)]
    Request(#[from] UnfoldError),
    /// A part that the request refers to is unavailable, or does not match its digest.
    #[error("the conversation of the model call is unavailable: {0}")]
    Unavailable(#[from] Unavailable),
}

/// The error of a conversation that is unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("the conversation in history does not match the request: expected {expected}, found {found}")]
    Mismatch { expected: String, found: String },
    #[error(
        "the definitions (instructions, tools, settings) that model call {activity_id} was given are not those that \
         are meant now, {digest}: a deploy has changed them"
    )]
    Definitions { activity_id: String, digest: String },
    #[error("the activity does not belong to a workflow run")]
    NoRun,
}

impl Default for ConversationCache {
    fn default() -> Self {
        Self::with_bytes(DEFAULT_BYTES)
    }
}

impl ConversationCache {
    /// Creates a cache of `most_bytes` bytes of text. With 0, nothing is remembered, and each call
    /// reads the workflow's history.
    pub fn with_bytes(most_bytes: usize) -> Self {
        Self(Arc::new(Shared {
            cache: Mutex::new(Cache::new(most_bytes)),
            rebuilding: Mutex::default(),
            rebuilds: Semaphore::new(MAX_CONCURRENT_REBUILDS),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            rebuilt_bytes: AtomicU64::new(0),
            rebuilt_pages: AtomicU64::new(0),
            counted: Mutex::default(),
        }))
    }

    /// Returns the counters of the cache so far.
    pub fn counters(&self) -> ConversationCacheStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConversationCacheStats {
            hits: read(&self.0.hits),
            misses: read(&self.0.misses),
            rebuilt_bytes: read(&self.0.rebuilt_bytes),
            rebuilt_pages: read(&self.0.rebuilt_pages),
            remembered_bytes: u64::try_from(self.lock().bytes()).unwrap_or(u64::MAX),
        }
    }

    /// Returns the counters, those of requests and bytes since this function was last called.
    pub(crate) fn take_uncounted(&self) -> ConversationCacheStats {
        let mut counted = self.0.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.counters();
        let before = std::mem::replace(&mut *counted, now);
        let (hits, misses) = (now.hits - before.hits, now.misses - before.misses);
        let rebuilt_bytes = now.rebuilt_bytes - before.rebuilt_bytes;
        ConversationCacheStats { hits, misses, rebuilt_bytes, ..now }
    }

    /// Returns the call of a request, checked against its digest.
    ///
    /// # Errors
    /// [`ReadError`].
    pub(crate) async fn read(&self, ctx: &ActivityContext, request: ModelRequest) -> Result<ModelCall, ReadError> {
        let (key, activity_id) = (RunKey::of(ctx.info()), ctx.info().activity_id.clone());
        if let (Some(key), DefinitionsPart::Inline { digest, definitions }) = (&key, &request.definitions) {
            self.lock().defined(key, &activity_id, digest, definitions);
        }
        let continues = continues(&request);
        let call = match &key {
            // Boxed, because reading history needs many buffers, and most calls do not read it.
            Some(key) if request.refers() => Box::pin(self.find(&ctx.client(), key, request)).await?,
            None if request.refers() => return Err(Unavailable::NoRun.into()),
            _ => request.unfold()?,
        };
        if let Some(key) = &key {
            self.lock().given(key, &activity_id, &call.input, continues);
        }
        Ok(call)
    }

    /// Records the response of a model call.
    pub(crate) fn answered(&self, info: &ActivityInfo, response: &ModelResponse) {
        if let Some(key) = RunKey::of(info) {
            self.lock().answered(&key, &info.activity_id, &response.output);
        }
    }

    /// Records the items of an activity that does nothing but record them.
    pub(crate) fn recorded(&self, info: &ActivityInfo, items: &[Item]) {
        if let Some(key) = RunKey::of(info) {
            self.lock().given(&key, &info.activity_id, items, None);
        }
    }

    /// Records the output of the tool call with this activity id, if it is large enough to be
    /// referred to.
    pub(crate) fn returned(&self, info: &ActivityInfo, activity_id: &str, call_id: &str, output: &ToolOutput) {
        if let Some(key) = RunKey::of(info) {
            let item = Item::function_call_output(call_id, output.clone().into_value());
            if item.json_len() > WORTH_A_REFERENCE {
                self.lock().returned(&key, activity_id, item);
            }
        }
    }

    /// Resolves the references of a request: from memory, otherwise from history.
    async fn find(&self, client: &Client, key: &RunKey, request: ModelRequest) -> Result<ModelCall, ReadError> {
        let (wanted, call) = Wanted::of(request)?;
        let (input, definitions) = match self.remembered(key, &wanted) {
            Some(found) => found,
            None => self.rebuilt(client, key, wanted).await?,
        };
        Ok(ModelCall { definitions: Definitions::clone(&definitions), input, ..call })
    }

    /// Reads history, for one call of a workflow run at a time.
    async fn rebuilt(&self, client: &Client, key: &RunKey, wanted: Wanted) -> Result<Found, Unavailable> {
        let one_at_a_time = self.rebuilding(key);
        let _only_this = one_at_a_time.lock().await;
        // Another call may have read it in the meantime.
        if let Some(found) = self.remembered(key, &wanted) {
            return Ok(found);
        }
        let _permit = self.0.rebuilds.acquire().await;
        self.0.misses.fetch_add(1, Ordering::Relaxed);
        match self.read_history(client, key, wanted.clone(), Sources::Memory).await {
            // The memory may be wrong; history decides.
            Err(Unavailable::Mismatch { .. }) => {
                self.lock().forget(key);
                self.read_history(client, key, wanted, Sources::HistoryOnly).await
            }
            found => found,
        }
    }

    /// Returns the items and definitions of a request if all of them are remembered and match the
    /// digest.
    fn remembered(&self, key: &RunKey, wanted: &Wanted) -> Option<Found> {
        let mut wanted = wanted.clone();
        wanted.look_up(&mut self.lock(), key);
        let found = if wanted.is_complete() { wanted.checked().ok()? } else { return None };
        self.0.hits.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    async fn read_history(
        &self,
        client: &Client,
        key: &RunKey,
        mut wanted: Wanted,
        believes: Sources,
    ) -> Result<Found, Unavailable> {
        let remembers = believes == Sources::Memory;
        if remembers {
            wanted.look_up(&mut self.lock(), key);
        }
        let known = |pending: &mut Pending| {
            if remembers {
                let mut cache = self.lock();
                pending.look_up(|reference| cache.items(key, reference));
            }
        };
        let missing = wanted.definitions.as_ref().err().cloned();
        let read = history::read(client, key, &mut wanted.items, missing.as_ref(), known).await?;
        self.0.rebuilt_bytes.fetch_add(read.bytes, Ordering::Relaxed);
        self.0.rebuilt_pages.fetch_add(read.pages, Ordering::Relaxed);
        if let (Some(definitions), Some(MissingDefinitions { activity_id, digest })) = (read.definitions, missing) {
            self.lock().defined(key, &activity_id, &digest, &definitions);
            wanted.definitions = Ok(definitions);
        }
        wanted.checked()
    }

    fn rebuilding(&self, key: &RunKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self.0.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, running| running.strong_count() > 0);
        if let Some(running) = all.get(key).and_then(Weak::upgrade) {
            return running;
        }
        let running = Arc::new(tokio::sync::Mutex::new(()));
        all.insert(key.clone(), Arc::downgrade(&running));
        running
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.0.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the activity id of the call whose input is the start of this request's input.
fn continues(request: &ModelRequest) -> Option<String> {
    match request.input.segments.first()? {
        InputSegment::Call { activity_id, part: None | Some(CallPart::Given), start: 0, .. } => {
            Some(activity_id.clone())
        }
        _ => None,
    }
}

impl HistoryError {
    /// `true` if another attempt may succeed: the server, or a codec, may be available by then.
    pub(crate) fn may_pass(&self, attempt: u32) -> bool {
        match self {
            Self::Server(status) => {
                !matches!(status.code(), Code::NotFound | Code::PermissionDenied | Code::Unimplemented)
            }
            Self::Unreadable { .. } => attempt < ATTEMPTS_TO_DECODE,
            Self::Absent(_) => false,
        }
    }
}

impl Unavailable {
    /// Returns the part that the workflow has to send again.
    pub(crate) fn what(&self) -> ConversationPart {
        match self {
            Self::Definitions { .. } => ConversationPart::Definitions,
            Self::History(_) | Self::Mismatch { .. } | Self::NoRun => ConversationPart::Items,
        }
    }

    /// `true` if another attempt may succeed: the server, or a codec, may be available by then.
    pub(crate) fn may_pass(&self, attempt: u32) -> bool {
        match self {
            Self::History(error) => error.may_pass(attempt),
            Self::Mismatch { .. } | Self::Definitions { .. } | Self::NoRun => false,
        }
    }
}

/// The sources that are used while history is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sources {
    Memory,
    HistoryOnly,
}

impl RunKey {
    /// Returns the workflow run of an activity. The request of a local activity is not in history,
    /// so it has none.
    pub(crate) fn of(info: &ActivityInfo) -> Option<Self> {
        let (Some(workflow_id), Some(run_id)) = (&info.workflow_id, &info.workflow_run_id) else { return None };
        (!info.is_local).then(|| Self {
            namespace: info.namespace.clone(),
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
        })
    }
}
