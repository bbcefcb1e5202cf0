//! From the references in a model request back to the conversation: from memory, else from the workflow's history.
//!
//! Whatever is put together here is checked against the digest in the request before a model sees it, and only then
//! remembered. What cannot be had is a failure (`ConversationUnavailable`) for which the workflow sends the definitions once
//! more, or all of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `wanted.rs` | what a request asks for, and the check of what was found |
//! | `pending.rs` | an input on its way from references to items |
//! | `cache.rs` | what a worker remembers, up to a size |
//! | `ended.rs` | forgets what belongs to workflow runs that have ended |
//! | `history.rs` | what it reads, newest event first |
//! | `states.rs` | states in chunks, back to the items in them |
//! | `recorded.rs` | the same for a whole history in hand |
//! | `newest_first.rs` | the pages of a history |
//!
//! # Design
//! New items that are together over 1.5 MiB are first recorded in portions of at most 1 MiB (one
//! item, if it is larger), each by an activity `agents.record_items` that does nothing: history
//! holds its input. Definitions that a deploy has changed in the middle of a run travel once more
//! while the conversation stays by reference (activity `<id>-definitions`). Items that history does
//! not hold, or not as the workflow expects, make the whole conversation travel (`<id>-full`). When
//! that fails as well, the run fails.
//!
//! A worker that calls models therefore needs the permission to read histories
//! (`GetWorkflowExecutionHistoryReverse`). Without it small conversations are sent in full whenever
//! the cache does not have them; one that needs portions fails the run.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod cache;
mod ended;
mod history;
mod newest_first;
mod pending;
mod recorded;
mod states;
mod wanted;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

pub(crate) use self::recorded::{NotWhole, Recorded};

use temporalio_client::Client;
use temporalio_sdk::activities::{ActivityContext, ActivityInfo};
use tokio::sync::Semaphore;
use tonic::Code;

pub(crate) use self::ended::ForgetEnded;
use self::{
    cache::Cache,
    history::MissingDefinitions,
    pending::Pending,
    wanted::{Found, Wanted},
};
pub(crate) use self::{cache::RunKey, history::HistoryError, newest_first::NewestFirst};
use crate::wire::{
    CallPart, ConversationPart, Definitions, DefinitionsPart, InputSegment, Item, ModelCall, ModelRequest,
    ModelResponse, ToolOutput, conversation::WORTH_A_REFERENCE, model_call::UnfoldError,
};

/// How much a worker remembers unless it is told otherwise, in bytes.
const DEFAULT_BYTES: usize = 64 * 1024 * 1024;
/// How often a message that cannot be decoded is read again.
const ATTEMPTS_TO_DECODE: u32 = 5;
/// Conversations that are read from history at a time.
const REBUILDS: usize = 4;

/// The conversations a worker remembers. Clones share them, so several workers of a process can use one.
///
/// A model request refers to what history holds already; a worker that has just made the calls before remembers it, any other
/// reads it from the workflow's history. Default 64 MiB.
///
/// ```
/// use temporal_agents::{AgentsPlugin, worker::ConversationCache};
///
/// let cache = ConversationCache::with_bytes(256 * 1024 * 1024);
/// let plugin = AgentsPlugin::new().conversation_cache(cache.clone());
/// assert_eq!(cache.counters().misses, 0);
/// ```
#[derive(Clone, Debug)]
pub struct ConversationCache(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    cache: Mutex<Cache>,
    /// One rebuild at a time per run.
    rebuilding: Mutex<HashMap<RunKey, Weak<tokio::sync::Mutex<()>>>>,
    rebuilds: Semaphore,
    hits: AtomicU64,
    misses: AtomicU64,
    rebuilt_bytes: AtomicU64,
    rebuilt_pages: AtomicU64,
}

/// What a cache has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationCounters {
    /// Requests with references that were all remembered.
    pub hits: u64,
    /// Requests for which history was read.
    pub misses: u64,
    /// Bytes of messages that were decoded from history.
    pub rebuilt_bytes: u64,
    /// Pages of history that were read.
    pub rebuilt_pages: u64,
    /// Bytes of text that are remembered now.
    pub remembered_bytes: u64,
}

/// Why a request cannot be turned back into the call that was meant.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// The request itself is wrong.
    #[error(transparent)]
    Request(#[from] UnfoldError),
    /// What it refers to cannot be had, or is not what was meant.
    #[error("the conversation of the model call cannot be had: {0}")]
    Unavailable(#[from] Unavailable),
}

/// Why a conversation cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("what history holds is not what was meant: expected {expected}, found {found}")]
    Mismatch { expected: String, found: String },
    #[error(
        "the definitions (instructions, tools, settings) that model call {activity_id} was given are not those that are meant \
         now, {digest}: a deploy has changed them"
    )]
    Definitions { activity_id: String, digest: String },
    #[error("this activity belongs to no workflow run")]
    NoRun,
}

impl Default for ConversationCache {
    fn default() -> Self {
        Self::with_bytes(DEFAULT_BYTES)
    }
}

impl ConversationCache {
    /// A cache of so many bytes of text. With 0 nothing is remembered, and each call reads the workflow's history.
    pub fn with_bytes(most_bytes: usize) -> Self {
        Self(Arc::new(Shared {
            cache: Mutex::new(Cache::new(most_bytes)),
            rebuilding: Mutex::default(),
            rebuilds: Semaphore::new(REBUILDS),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            rebuilt_bytes: AtomicU64::new(0),
            rebuilt_pages: AtomicU64::new(0),
        }))
    }

    /// What it has seen so far.
    pub fn counters(&self) -> ConversationCounters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ConversationCounters {
            hits: read(&self.0.hits),
            misses: read(&self.0.misses),
            rebuilt_bytes: read(&self.0.rebuilt_bytes),
            rebuilt_pages: read(&self.0.rebuilt_pages),
            remembered_bytes: u64::try_from(self.lock().bytes()).unwrap_or(u64::MAX),
        }
    }

    /// The call that was meant, checked.
    ///
    /// # Errors
    /// [`ReadError`].
    pub(crate) async fn read(&self, ctx: &ActivityContext, request: ModelRequest) -> Result<ModelCall, ReadError> {
        let (key, activity_id) = (RunKey::of(ctx.info()), ctx.info().activity_id.clone());
        if let (Some(key), DefinitionsPart::Inline { digest, definitions }) = (&key, &request.definitions) {
            self.lock().defined(key, &activity_id, digest, definitions);
        }
        let goes_on_with = goes_on_with(&request);
        let call = match &key {
            // Boxed: reading history takes many buffers, and most calls do without.
            Some(key) if request.refers() => Box::pin(self.find(&ctx.client(), key, request)).await?,
            None if request.refers() => return Err(Unavailable::NoRun.into()),
            _ => request.unfold()?,
        };
        if let Some(key) = &key {
            self.lock().given(key, &activity_id, &call.input, goes_on_with);
        }
        Ok(call)
    }

    /// A model call was answered.
    pub(crate) fn answered(&self, info: &ActivityInfo, response: &ModelResponse) {
        if let Some(key) = RunKey::of(info) {
            self.lock().answered(&key, &info.activity_id, &response.output);
        }
    }

    /// Items were recorded by themselves.
    pub(crate) fn recorded(&self, info: &ActivityInfo, items: &[Item]) {
        if let Some(key) = RunKey::of(info) {
            self.lock().given(&key, &info.activity_id, items, None);
        }
    }

    /// A tool has returned this.
    pub(crate) fn returned(&self, info: &ActivityInfo, call_id: &str, output: &ToolOutput) {
        if let Some(key) = RunKey::of(info) {
            let item = Item::function_call_output(call_id, output.clone().into_value());
            if item.json_len() > WORTH_A_REFERENCE {
                self.lock().returned(&key, &info.activity_id, item);
            }
        }
    }

    /// Finds what a request refers to: in memory, else in history.
    async fn find(&self, client: &Client, key: &RunKey, request: ModelRequest) -> Result<ModelCall, ReadError> {
        let (wanted, call) = Wanted::of(request)?;
        let (input, definitions) = match self.remembered(key, &wanted) {
            Some(found) => found,
            None => self.rebuilt(client, key, wanted).await?,
        };
        Ok(ModelCall { definitions: Definitions::clone(&definitions), input, ..call })
    }

    /// Reads history, one call of a run at a time.
    async fn rebuilt(&self, client: &Client, key: &RunKey, wanted: Wanted) -> Result<Found, Unavailable> {
        let one_at_a_time = self.rebuilding(key);
        let _only_this = one_at_a_time.lock().await;
        // Somebody else may have read it meanwhile.
        if let Some(found) = self.remembered(key, &wanted) {
            return Ok(found);
        }
        let _permit = self.0.rebuilds.acquire().await;
        self.0.misses.fetch_add(1, Ordering::Relaxed);
        match self.read_history(client, key, wanted.clone(), Believes::Memory).await {
            // What is remembered may be wrong; history decides.
            Err(Unavailable::Mismatch { .. }) => {
                self.lock().forget(key);
                self.read_history(client, key, wanted, Believes::HistoryOnly).await
            }
            found => found,
        }
    }

    /// What is wanted, if all of it is remembered and is what was meant.
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
        believes: Believes,
    ) -> Result<Found, Unavailable> {
        let remembers = believes == Believes::Memory;
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

/// The call whose whole input stands at the beginning of this one's.
fn goes_on_with(request: &ModelRequest) -> Option<String> {
    match request.input.segments.first()? {
        InputSegment::Call { activity_id, part: None | Some(CallPart::Given), start: 0, .. } => {
            Some(activity_id.clone())
        }
        _ => None,
    }
}

impl HistoryError {
    /// Whether another attempt may find it: the server, or a codec, may be back by then.
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
    /// What the workflow has to send once more.
    pub(crate) fn what(&self) -> ConversationPart {
        match self {
            Self::Definitions { .. } => ConversationPart::Definitions,
            Self::History(_) | Self::Mismatch { .. } | Self::NoRun => ConversationPart::Items,
        }
    }

    /// Whether another attempt may find it: the server, or a codec, may be back by then.
    pub(crate) fn may_pass(&self, attempt: u32) -> bool {
        match self {
            Self::History(error) => error.may_pass(attempt),
            Self::Mismatch { .. } | Self::Definitions { .. } | Self::NoRun => false,
        }
    }
}

/// Whether what is remembered is used while history is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Believes {
    Memory,
    HistoryOnly,
}

impl RunKey {
    /// The workflow run of an activity. A local activity has no history to be referred to.
    pub(crate) fn of(info: &ActivityInfo) -> Option<Self> {
        let (Some(workflow_id), Some(run_id)) = (&info.workflow_id, &info.workflow_run_id) else { return None };
        (!info.is_local).then(|| Self {
            namespace: info.namespace.clone(),
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
        })
    }
}
