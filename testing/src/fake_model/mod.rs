//! A scripted model: answers calls without a key or a network, and records them.
//!
//! ```
//! use serde_json::json;
//! use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};
//!
//! let model =
//!     FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees")]);
//! ```
//!
//! A call beyond the script fails with an error that is not retried and that identifies the call;
//! [`FakeModel::verify`] (which `AgentEnvironment` calls) fails if replies are left over.
//!
//! The model also streams: it sends the texts, the reasoning and the arguments of a reply in parts,
//! and then returns the same response. [`Reply::chunk_size`] and the methods beside it set the size
//! and the pace of the parts, and a failure.
//!
//! ```
//! use std::time::Duration;
//!
//! use temporal_agents_testing::fake_model::{FakeModel, text};
//!
//! // "12 ", "deg", then a lost connection; the next attempt receives the whole answer.
//! let pause = Duration::from_millis(5);
//! let reply = text("12 degrees").chunk_size(3).chunk_pause(pause).breaking_after(2);
//! let model = FakeModel::script([reply]);
//! ```
//!
//! # Design
//! **`FakeModel::function` counts by the conversation.** The call ids of a script contain the
//! number of the call in this process. A function may continue in another process after a crash,
//! where that number starts again at 0 and would repeat ids. So the ids of a function contain the
//! length of the conversation.

mod chunks;
mod crash;
mod native;
mod reply;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use temporal_agents::{
    Model, ModelProvider,
    provider::{ModelDeltas, ModelError},
    wire::{ModelCall, ModelFailureKind, ModelResponse},
};

pub use crash::CrashAfterTurns;
pub use reply::{Reply, failure, handoff, item, message, reasoning, refusal, structured, text, tool_call, tool_calls};

type Respond = Arc<dyn Fn(&ModelCall, usize) -> Reply + Send + Sync>;

/// A model provider for tests that serves every model name. Clones share the script and the record
/// of calls.
#[derive(Clone)]
pub struct FakeModel {
    inner: Arc<Inner>,
    /// Pause between the parts of the answers that have none of their own.
    chunk_pause: Duration,
    /// `true` if calls are forgotten once they are answered.
    forgets_calls: bool,
}

struct Inner {
    source: Source,
    record: Mutex<Record>,
}

enum Source {
    Script(Vec<Reply>),
    Function(Respond),
}

#[derive(Default)]
struct Record {
    calls: Vec<ModelCall>,
    complaints: Vec<String>,
    /// Number of calls that are no repetitions of a failed stream.
    replies: usize,
    failed_streams: Vec<FailedStream>,
}

/// A stream that failed once, so that the same call receives the same reply.
struct FailedStream {
    call: ModelCall,
    index: usize,
    is_repeated: bool,
}

impl FakeModel {
    /// Answers the calls with these replies, in order. An attempt that Temporal repeats consumes
    /// the next reply, unless a stream failed ([`Reply::breaking_after`]).
    pub fn script(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::of(Source::Script(replies.into_iter().collect()))
    }

    /// Answers each call with the result of the function, whose second argument counts the calls of
    /// this process from 0.
    ///
    /// A function that depends on the conversation alone also works in another process after a
    /// crash. To make this possible, its ids contain the length of the conversation where those of
    /// a script contain the number of the call.
    pub fn function(respond: impl Fn(&ModelCall, usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::of(Source::Function(Arc::new(respond)))
    }

    fn of(source: Source) -> Self {
        Self {
            inner: Arc::new(Inner { source, record: Mutex::default() }),
            chunk_pause: Duration::ZERO,
            forgets_calls: false,
        }
    }

    /// Sets the pause between two parts of the streamed answers that do not set one with
    /// [`Reply::chunk_pause`]. Default none. It applies to this handle and its later clones.
    #[must_use]
    pub fn chunk_pause(mut self, pause: Duration) -> Self {
        self.chunk_pause = pause;
        self
    }

    /// Keeps no calls: for a program that answers for as long as it runs, such as a demonstration. It
    /// applies to this handle and its later clones, for which [`calls`](Self::calls) stays empty.
    #[must_use]
    pub fn forget_calls(mut self) -> Self {
        self.forgets_calls = true;
        self
    }

    /// Returns the calls so far, in order.
    pub fn calls(&self) -> Vec<ModelCall> {
        self.record().calls.clone()
    }

    /// Fails the test if the script and the calls do not match.
    ///
    /// # Panics
    /// With a list of the mismatches: replies without a call, calls without a reply, and request
    /// assertions that failed.
    #[track_caller]
    pub fn verify(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "the scripted model:\n- {}", complaints.join("\n- "));
    }

    /// Returns the mismatches so far; see [`verify`](Self::verify).
    pub fn complaints(&self) -> Vec<String> {
        let record = self.record();
        let mut complaints = record.complaints.clone();
        if let Source::Script(replies) = &self.inner.source {
            let unrepeated = record.failed_streams.iter().filter(|stream| !stream.is_repeated);
            let unrepeated: Vec<usize> = unrepeated.map(|stream| stream.index).collect();
            for (index, reply) in replies.iter().enumerate() {
                if index < record.replies && !unrepeated.contains(&index) {
                    continue;
                }
                complaints.push(format!("reply {} of the script was not used: {reply:?}", index + 1));
            }
        }
        complaints
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.inner.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the call and determines its reply. The author's functions run without the lock,
    /// since they may read the calls.
    fn next(&self, call: &ModelCall) -> Result<(usize, Reply), ModelError> {
        let index = {
            let mut record = self.record();
            if !self.forgets_calls {
                record.calls.push(call.clone());
            }
            record.next_index(call)
        };
        let reply = match &self.inner.source {
            Source::Function(respond) => Ok(respond(call, index)),
            Source::Script(replies) => replies
                .get(index)
                .cloned()
                .ok_or_else(|| format!("exceeds the script, which has {} replies", replies.len())),
        };
        match reply.and_then(|reply| reply.check(call).map(|()| reply)) {
            Ok(reply) => Ok((index, reply)),
            Err(complaint) => {
                let complaint = format!("call {} (agent {:?}, turn {}): {complaint}", index + 1, call.agent, call.turn);
                self.record().complaints.push(complaint.clone());
                Err(ModelError::new(ModelFailureKind::Internal, complaint))
            }
        }
    }
}

impl Record {
    /// Returns the index of the reply to a call: the next one, or that of the stream that failed.
    fn next_index(&mut self, call: &ModelCall) -> usize {
        let failed = self.failed_streams.iter_mut().find(|stream| !stream.is_repeated && stream.call == *call);
        if let Some(stream) = failed {
            stream.is_repeated = true;
            return stream.index;
        }
        self.replies += 1;
        self.replies - 1
    }

    /// Returns `true` if a stream with a failure is the first one of its reply, or, with `by_call`,
    /// of its call.
    fn fails(&mut self, index: usize, call: ModelCall, by_call: bool) -> bool {
        let is_known = |stream: &FailedStream| stream.index == index || by_call && stream.call == call;
        let fails = !self.failed_streams.iter().any(is_known);
        if fails {
            self.failed_streams.push(FailedStream { call, index, is_repeated: false });
        }
        fails
    }
}

impl Model for FakeModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let (index, reply) = self.next(&call)?;
            reply.answer(self.number(index, &call)).await
        })
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let (index, reply) = self.next(&call)?;
            let chunks = reply.chunks.clone();
            let response = reply.answer(self.number(index, &call)).await?;
            let fails = chunks.mishap.is_some() && {
                let by_call = matches!(self.inner.source, Source::Function(_));
                self.record().fails(index, call, by_call)
            };
            chunks.send(&response, &deltas, fails, self.chunk_pause).await?;
            Ok(response)
        })
    }
}

impl FakeModel {
    /// Returns the number in the ids of an answer. It is the length of the conversation in the case
    /// of a function; see `# Design`.
    fn number(&self, index: usize, call: &ModelCall) -> usize {
        match self.inner.source {
            Source::Script(_) => index,
            Source::Function(_) => call.input.len(),
        }
    }
}

impl ModelProvider for FakeModel {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}

impl fmt::Debug for FakeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeModel").field("calls", &self.record().calls.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
