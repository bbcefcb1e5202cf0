//! A model that crashes in the middle of a conversation, once or for a while.

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
    wire::{ModelCall, ModelFailureKind, ModelResponse},
    worker::ModelError,
};

/// Serves so many model calls from another provider, then crashes at the next one: that call fails with `simulated crash after 2 turns`, which
/// is retried as a lost connection is. The calls after it are served again, so that a run, or another attempt of an activity, can go on. Clones
/// count together.
///
/// ```
/// use serde_json::json;
/// use temporal_agents_testing::fake_model::{CrashAfterTurns, FakeModel, text, tool_call};
///
/// let model = FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees")]);
/// let crashing = CrashAfterTurns::new(1, model.clone()); // for `AgentEnvironment::builder().model_provider(..)`, or a worker
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
    /// Crashes at the call after so many, which may be none.
    pub fn new(turns: usize, provider: impl ModelProvider + 'static) -> Self {
        Self { turns, provider: Arc::new(provider), calls: Arc::default(), lasts: 1, is_aborting: false }
    }

    /// The crash lasts for so many calls. Three make the attempt of an agentic session fail: it tries each call three times by itself.
    #[must_use]
    pub fn lasting(mut self, calls: usize) -> Self {
        self.lasts = calls;
        self
    }

    /// The crash is one of the process, which ends at once: nothing is dropped, flushed or told to the server, as after SIGKILL. The count is
    /// the process's own: one that is to go on where another has crashed is started without this.
    #[must_use]
    pub fn aborting(mut self) -> Self {
        self.is_aborting = true;
        self
    }

    /// The calls so far, those that crashed among them.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Counts a call.
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

/// A model of the other provider.
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
}

#[cfg(test)]
mod tests;
