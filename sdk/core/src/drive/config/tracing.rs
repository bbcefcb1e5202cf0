//! The settings of a run's trace.
//!
//! # Design
//! **The settings are data of the run,** with the same values live, on replay and in the state. The
//! run writes them where its history can be read: spans that are made from history much later are
//! those that were sent while it happened. What may not be in a history, the address and the keys
//! of a collector, stays with the worker.
//!
//! # Source
//! The seven members of `RunConfig` of the OpenAI Agents SDK that are about tracing.

use std::borrow::Cow;

use serde_json::Value;

use super::{RunConfig, RunConfigBuilder, run_config_builder};
use crate::{
    drive::run::Run,
    engine::RunError,
    wire::{TraceSettings, TracingConfig},
};

impl RunConfig {
    /// Returns the configuration of a run with this origin: a state has settings that count where
    /// the configuration sets none.
    #[doc(hidden)]
    pub fn traced_as(&self, run: &Run) -> Cow<'_, Self> {
        let before = match run {
            Run::Resume(state) | Run::Continue(state) => state.trace.as_deref(),
            Run::Start(_) => None,
        };
        match before {
            Some(before) => Cow::Owned(Self { trace: self.trace.clone().over(before), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// Returns the settings of the trace; `None` if nothing is set.
    pub(in crate::drive) fn trace_settings(&self) -> Option<Box<TraceSettings>> {
        (!self.trace.is_empty()).then(|| Box::new(self.trace.clone()))
    }

    /// Checks the settings of the trace.
    ///
    /// # Errors
    /// [`RunError::User`].
    pub(super) fn check_trace(&self, agent: &str) -> Result<(), RunError> {
        self.trace.check().map_err(|message| RunError::User { agent: agent.to_owned(), message, has_run_data: false })
    }
}

/// The trace of the run (module `trace`, feature `otel`). A run that is resumed keeps what its
/// runner does not set. Runs of agents used as tools have the same settings, also in child
/// workflows.
impl<S: run_config_builder::State> RunConfigBuilder<S> {
    /// Sets the name of the workflow in its trace: in the span `invoke_workflow <name>`, and in
    /// `gen_ai.workflow.name`. Default: the type of the workflow. Agents in child workflows do not
    /// inherit it.
    pub fn workflow_name(mut self, name: impl Into<String>) -> Self {
        self.trace.workflow_name = Some(name.into());
        self
    }

    /// Sets the id of the trace: 32 lowercase hexadecimal digits that are not all zero, with or
    /// without `trace_` before them. Any other id fails the run before its first model call.
    /// Default: an id that is made of the id of the workflow's first run.
    ///
    /// A workflow that a caller has started with a trace (header `_tracer-data`) is part of the
    /// caller's trace, and this id is not used: a span has one parent, and the caller's is there
    /// already. Executions that continue as new, and those after a reset, are part of the same
    /// trace. Several workflows may have the same id. Their spans have ids of their own.
    ///
    /// # Determinism
    /// A random id must be drawn from the workflow's context, or by whoever starts the workflow.
    pub fn trace_id(mut self, id: impl Into<String>) -> Self {
        self.trace.trace_id = Some(id.into());
        self
    }

    /// Sets the id of the conversation to which the run belongs: `gen_ai.conversation.id` of the
    /// spans of the workflow, its agents and its model calls. Several traces may have the same.
    pub fn group_id(mut self, id: impl Into<String>) -> Self {
        self.trace.group_id = Some(id.into());
        self
    }

    /// Adds an attribute of all spans of the run, for example `user.id`, or `langfuse.session.id`.
    /// A string, a number or a boolean is sent as it is, any other value as JSON. An attribute that
    /// a span has by itself is not replaced.
    ///
    /// It is no content: it is sent whatever the worker and the run say about content, and history
    /// holds it, once for each activity of the run. With all other settings of the trace it must
    /// fit into 4 KiB of JSON; more fails the run before its first model call.
    pub fn trace_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.trace.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets `false` to leave content out of spans: prompts, answers, arguments, outputs and
    /// messages of failures. Default: as the worker says with
    /// `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`. `true` adds nothing that the worker
    /// does not permit. History holds the content in either case.
    pub fn trace_include_sensitive_data(mut self, includes: bool) -> Self {
        self.trace.include_sensitive_data = Some(includes);
        self
    }

    /// Sets `true` for a run without spans, live and from history, also of agents in child
    /// workflows. Spans that the code of its tools opens with `opentelemetry` are not sampled,
    /// where their sampler follows the parent. Default: `false`. A workflow whose runs are all
    /// without spans has no span of its own either.
    pub fn tracing_disabled(mut self, is_disabled: bool) -> Self {
        self.trace.disabled = is_disabled;
        self
    }

    /// Sets the export of the spans of the run: the name of a collector that the worker has
    /// (`Tracing::collector`). Default: the worker's own collector.
    ///
    /// The Agents SDK takes an API key here. In a workflow it would be in history, so the key stays
    /// on the worker, with the collector of this name. Spans for a name that the worker does not
    /// have are not sent, and counted as lost.
    pub fn tracing(mut self, config: TracingConfig) -> Self {
        self.trace.tracing = Some(config);
        self
    }
}
