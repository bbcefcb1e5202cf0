//! One call of a model or a tool, reported to the publisher of the run's events, to its trace and
//! to metrics.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::{Duration, SystemTime},
};

use temporal_agents_core::{
    agent::{GuardrailOutput, parse_guardrail_output},
    drive::{EffectId, ToolAnswer, ToolEffectError},
    tool::{CallInfo, ToolFailure, ToolFailureKind, ToolGuardrailOutput},
    wire::{EventKind, ModelCall, ModelResponse, RecordedFailure, run_state::ToolGuardrailBehavior},
};

use crate::{
    deltas::ModelEvents,
    events::{AsideKind, AttemptContext, Attempts, EventPublisher, ScheduledModelCall, is_aside, rfc3339},
    metrics::{Execution, Inference, Metrics},
    provider::{ModelDeltas, ModelError},
};

/// One call of a model or a tool, in all its attempts. Without a publisher, it costs nothing.
pub(crate) struct ObservedCall<'t> {
    publisher: Option<&'t Arc<EventPublisher>>,
    metrics: Option<&'t Metrics>,
    /// Id of the effect in the whole run.
    id: &'t EffectId,
    agent: String,
    turn: u32,
    attempts: RefCell<Attempts>,
    /// Start of the call, if no fact reports it.
    aside_since: Cell<Option<SystemTime>>,
}

impl<'t> ObservedCall<'t> {
    /// Creates the call of this effect.
    pub(crate) fn new(
        publisher: Option<&'t Arc<EventPublisher>>,
        metrics: Option<&'t Metrics>,
        id: &'t EffectId,
        agent: &str,
        turn: u32,
    ) -> Self {
        let agent = publisher.map(|_| agent.to_owned()).unwrap_or_default();
        Self { publisher, metrics, id, agent, turn, attempts: RefCell::default(), aside_since: Cell::default() }
    }

    /// Begins to measure an attempt at a call of this model.
    pub(crate) fn inference(&self, call: &ModelCall) -> Option<Inference> {
        self.metrics.map(|metrics| metrics.inference(&call.agent, &call.model))
    }

    /// Begins to measure an attempt at a call of this tool.
    pub(crate) fn execution(&self, tool: &str) -> Option<Execution> {
        self.metrics.map(|metrics| metrics.execution(tool))
    }

    /// Records that an attempt begins.
    pub(crate) fn begins(&self, attempt: u32) {
        self.attempts.borrow_mut().number = attempt;
        self.attempt(attempt, None, None);
    }

    /// Records that an attempt has failed, and that another one follows after this pause.
    pub(crate) fn fails(&self, attempt: u32, failure: impl FnOnce() -> RecordedFailure, pause: Duration) {
        if self.publisher.is_none() {
            return;
        }
        let failure = failure();
        self.attempts.borrow_mut().earlier_failure = Some(failure.clone());
        self.attempt(attempt, Some(failure), Some(rfc3339(SystemTime::now() + pause)));
    }

    fn attempt(&self, attempt: u32, failure: Option<RecordedFailure>, next_at: Option<String>) {
        if let Some(publisher) = self.publisher {
            let effect = self.effect().to_owned();
            let kind = EventKind::AttemptDelta { effect, attempt, failure, next_at };
            publisher.delta(self.id.path(), &self.agent, self.turn, kind);
        }
    }

    /// Returns the id of the effect in its own run.
    fn effect(&self) -> &str {
        &self.id.as_str()[self.id.path().len()..]
    }

    /// Returns the context of the code of an attempt; `None` in a run without traces.
    pub(crate) fn context(&self, attempt: u32) -> Option<AttemptContext> {
        self.publisher?.context(self.id.path(), self.effect(), attempt)
    }

    /// Returns the receiver of the parts of the answer; `None` without a subscriber.
    pub(crate) fn deltas(&self, call: &ModelCall, attempt: u32) -> Option<ModelDeltas> {
        let publisher = self.publisher.filter(|publisher| publisher.subscriber().is_some())?;
        let path = self.id.path().to_owned();
        let events = ModelEvents::new(&publisher.run_at(&path), call.turn, attempt, call.guards_output);
        let (publisher, agent, turn) = (Arc::clone(publisher), call.agent.clone(), call.turn);
        Some(ModelDeltas::new(move |delta| {
            if let Some(kind) = events.kind(delta) {
                publisher.delta(&path, &agent, turn, kind);
            }
        }))
    }

    /// Reports the scheduled model call.
    pub(crate) fn model_scheduled(&self, call: &ModelCall) {
        let Some(publisher) = self.publisher else { return };
        publisher.observe(|facts| {
            facts.model_scheduled(
                &publisher.id(self.id.as_str()),
                &ScheduledModelCall {
                    agent: Some(&call.agent),
                    turn: call.turn,
                    model: &call.model,
                    handoffs: Some(&call.definitions.handoffs),
                    items: &call.input,
                    guards_output: Some(call.guards_output),
                },
            );
        });
    }

    /// Reports the response of the model.
    pub(crate) fn model_answered(&self, response: &ModelResponse) {
        let Some(publisher) = self.publisher else { return };
        let id = publisher.id(self.id.as_str());
        publisher.observe(|facts| facts.model_answered(&id, self.attempts.take(), Some(response)));
    }

    /// Reports that the model call has failed.
    pub(crate) fn model_failed(&self, error: &ModelError) {
        let Some(publisher) = self.publisher else { return };
        let id = publisher.id(self.id.as_str());
        publisher.observe(|facts| facts.model_failed(&id, self.attempts.take(), of_model(error)));
    }

    /// Reports the scheduled tool call.
    pub(crate) fn tool_scheduled(&self) {
        let Some(publisher) = self.publisher else { return };
        let id = publisher.id(self.id.as_str());
        if publisher.receives_asides() && is_aside(self.effect()) {
            self.aside_since.set(Some(SystemTime::now()));
        }
        publisher.observe(|facts| facts.tool_scheduled(&id, &self.agent, self.turn));
    }

    /// Reports a call whose outcome an earlier attempt of a session has recorded.
    pub(crate) fn restored(&self, info: &CallInfo, outcome: &Result<ToolAnswer, ToolEffectError>) {
        self.tool_scheduled();
        // The attempt that has begun a call and was lost has not reported its end.
        let is_lost = |failure: &ToolFailure| failure.kind == ToolFailureKind::OutcomeUnknown;
        if !matches!(outcome, Err(ToolEffectError::Failed { failure, .. }) if is_lost(failure)) {
            let tripped = (triggered(outcome) == Some(true)).then_some(&*info.tool);
            self.aside(|since| (AsideKind::Earlier { tripped }, (since, since), None));
        }
        self.tool_ended(info, outcome);
    }

    /// Reports the end of a call that no fact reports.
    pub(crate) fn aside_ended(&self, info: &CallInfo, outcome: &Result<ToolAnswer, ToolEffectError>) {
        self.aside(|since| {
            let (effect, name, triggered) = (self.effect(), &*info.tool, triggered(outcome));
            let kind = AsideKind::Guardrail { effect, name, triggered };
            (kind, (since, SystemTime::now()), outcome.as_ref().err().map(of_tool))
        });
    }

    /// Passes on a call that no fact reports, made of its start; once.
    fn aside<'a>(
        &'a self,
        of: impl FnOnce(SystemTime) -> (AsideKind<'a>, (SystemTime, SystemTime), Option<RecordedFailure>),
    ) {
        if let (Some(since), Some(publisher)) = (self.aside_since.take(), self.publisher) {
            let (kind, times, failure) = of(since);
            publisher.aside(self.id.path(), kind, times, failure);
        }
    }

    /// Reports the outcome of a tool call. A question to people is not an output.
    pub(crate) fn tool_ended(&self, info: &CallInfo, outcome: &Result<ToolAnswer, ToolEffectError>) {
        let Some(publisher) = self.publisher else { return };
        let id = publisher.id(self.id.as_str());
        let call = (&*info.call_id, &*info.tool);
        self.aside_ended(info, outcome);
        publisher.observe(|facts| match outcome {
            Ok(ToolAnswer { question: Some(_), .. }) | Err(ToolEffectError::Cancelled) => {}
            Ok(answer) => {
                let output = answer.output.clone().into_value();
                facts.tool_answered(&id, call, self.attempts.take(), Some(&output), answer.side_data.clone());
            }
            Err(error) => facts.tool_failed(&id, call, self.attempts.take(), of_tool(error)),
        });
    }
}

/// Returns the failure of an attempt at a model call, as an activity would record it.
pub(crate) fn of_model(error: &ModelError) -> RecordedFailure {
    RecordedFailure::new(error.kind.failure_type(), error.to_string())
}

/// Returns the verdict of a guardrail.
fn triggered(outcome: &Result<ToolAnswer, ToolEffectError>) -> Option<bool> {
    let output = &outcome.as_ref().ok()?.output;
    if let Ok(found) = parse_guardrail_output::<GuardrailOutput>(output) {
        return Some(found.tripwire_triggered);
    }
    let found: ToolGuardrailOutput = parse_guardrail_output(output).ok()?;
    Some(found.behavior == ToolGuardrailBehavior::RaiseException)
}

fn of_tool(error: &ToolEffectError) -> RecordedFailure {
    match error {
        ToolEffectError::Failed { failure, .. } => {
            RecordedFailure::new(failure.activity_failure_type(), failure.message.clone())
        }
        ToolEffectError::NotRegistered { source, .. }
        | ToolEffectError::Absent(source)
        | ToolEffectError::SessionLost { source, .. }
        | ToolEffectError::Host(source) => RecordedFailure::new("Application", source.to_string()),
        ToolEffectError::Cancelled => RecordedFailure::new("Cancelled", "the call was cancelled"),
    }
}
