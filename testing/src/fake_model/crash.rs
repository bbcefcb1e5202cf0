//! A model that crashes in the middle of a conversation, for one or more calls.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures::future::BoxFuture;
use temporal_agents::{
    Model, ModelProvider,
    provider::{ModelDeltas, ModelError},
    wire::{ModelCall, ModelFailureKind, ModelResponse},
};

/// Serves `turns` model calls from another provider, then crashes at the next call: after two
/// turns, for example, that call fails with `simulated crash after 2 turns`, which is retried like
/// a lost connection. The calls after it are served again, so that a run, or another attempt of an
/// activity, can continue. Clones share one count.
///
/// ```
/// use serde_json::json;
/// use temporal_agents_testing::fake_model::{CrashAfterTurns, FakeModel, text, tool_call};
///
/// let model =
///     FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees")]);
/// // For `AgentEnvironment::builder().model_provider(..)`, or a worker.
/// let crashing = CrashAfterTurns::new(1, model.clone());
/// # let _ = crashing;
/// ```
#[derive(Clone)]
pub struct CrashAfterTurns {
    turns: usize,
    provider: Arc<dyn ModelProvider>,
    calls: Arc<AtomicUsize>,
    lasts: usize,
    is_aborting: bool,
}

impl CrashAfterTurns {
    /// Creates a provider that crashes at the call after `turns` calls; `turns` may be 0.
    pub fn new(turns: usize, provider: impl ModelProvider + 'static) -> Self {
        Self { turns, provider: Arc::new(provider), calls: Arc::default(), lasts: 1, is_aborting: false }
    }

    /// Extends the crash to `calls` calls. Three calls make the attempt of an agentic session fail,
    /// since a session itself tries each call three times.
    #[must_use]
    pub fn lasting(mut self, calls: usize) -> Self {
        self.lasts = calls;
        self
    }

    /// Aborts the process at the crash: nothing is dropped, flushed or reported to the server, as
    /// after SIGKILL. The count belongs to the process: start the process that continues after the
    /// crash without this setting.
    #[must_use]
    pub fn aborting(mut self) -> Self {
        self.is_aborting = true;
        self
    }

    /// Returns the number of calls so far, including those that crashed.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Counts a call, and crashes if it is due.
    fn begin(&self) -> Result<(), ModelError> {
        let served = self.calls.fetch_add(1, Ordering::SeqCst);
        let has_crashed = served.checked_sub(self.turns).is_some_and(|crashed| crashed < self.lasts);
        if !has_crashed {
            return Ok(());
        }
        let message = format!("simulated crash after {} turns", self.turns);
        if self.is_aborting {
            eprintln!("{message}");
            std::process::abort();
        }
        let mut error = ModelError::new(ModelFailureKind::Connection, message);
        error.retryable = Some(true);
        Err(error)
    }
}

impl ModelProvider for CrashAfterTurns {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(async move {
            let model = self.provider.model(name).await?;
            Ok(model.map(|model| -> Arc<dyn Model> { Arc::new(Crashing { crash: self.clone(), model }) }))
        })
    }
}

impl fmt::Debug for CrashAfterTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CrashAfterTurns")
            .field("turns", &self.turns)
            .field("calls", &self.calls())
            .field("lasts", &self.lasts)
            .field("is_aborting", &self.is_aborting)
            .finish_non_exhaustive()
    }
}

/// A model of the other provider, with the crash.
struct Crashing {
    crash: CrashAfterTurns,
    model: Arc<dyn Model>,
}

impl Model for Crashing {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.crash.begin()?;
            self.model.call(call).await
        })
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.crash.begin()?;
            self.model.stream(call, deltas).await
        })
    }
}

#[cfg(test)]
mod tests;
