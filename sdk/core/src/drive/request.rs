//! A run that begins when it is awaited: `runner.run(&agent, "hi").await`, on each host.
//!
//! # Design
//! **One `run`.** The origin of a run (a message, a paused run, a carried run), its end (with an
//! output, or also at a pause) and its output (typed or JSON) are independent of each other. So the
//! origin is an argument and the others are methods of the request, instead of one method for each
//! combination. A host implements [`RunsTo`] once.

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
};

use serde_json::Value;

use super::{
    config::RunInput,
    result::{RunFailure, RunOutcome, RunResult},
    run::{Outputs, Run, finished},
};
use crate::{
    agent::{Agent, AgentDef},
    wire::{Carried, Item, RunState},
};

/// A run of an agent that begins when it is awaited, with a `T` or the error of the runner:
/// a [`RunFailure`], or the `RunFailed` of a workflow. Its methods change `T`:
///
/// | request | result |
/// |---|---|
/// | `runner.run(&agent, "hi").await` | [`RunResult<O>`], with the output type of the agent |
/// | `runner.run(&agent, "hi").untyped().await` | [`RunResult<Value>`] |
/// | `runner.run(&agent, "hi").until_paused().await` | [`RunOutcome<O>`]: finished, or paused |
/// | `runner.run(&agent, "hi").until_paused().untyped().await` | [`RunOutcome<Value>`] |
///
/// The second argument is anything that a run can begin from: see [`IntoRun`]. The runner `R` is
/// the workflow's `Runner`, an `InlineRunner` or a `SessionRunner`.
///
/// # Errors
/// The method `run` of each runner lists the reasons.
///
/// # Retries
/// None of the run itself: see [`RunError`](crate::engine::RunError).
///
/// # Futures
/// A macro that takes futures, like `join!`, takes the request as
/// `runner.run(&agent, "hi").into_future()`.
#[must_use = "the run begins when it is awaited"]
pub struct RunRequest<'a, R: AgentRunner, T> {
    runner: &'a R,
    agent: &'a AgentDef,
    start: R::Start,
    outputs: Outputs,
    returns: PhantomData<fn() -> T>,
}

impl<'a, R: AgentRunner, O> RunRequest<'a, R, RunResult<O>> {
    /// Creates the request for a run of the agent on this runner.
    #[doc(hidden)]
    pub fn new(runner: &'a R, agent: &'a Agent<O>, from: impl IntoRun<R>) -> Self {
        let (agent, start) = (agent.def(), from.into_start());
        Self { runner, agent, start, outputs: Outputs::OfOneType, returns: PhantomData }
    }

    /// Also returns when calls wait for a decision, as [`RunOutcome::Paused`], instead of waiting
    /// or failing there. To resume the run, pass its state, with decisions, to `run` again.
    ///
    /// In a workflow with an inbox, the run takes the decisions that are already there, and does
    /// not wait for more. In a session with an approver, the run waits for the approver, and does
    /// not end paused.
    ///
    /// # Determinism
    /// Safe. To wait for a decision afterwards, use the condition `AgentInbox::has_decisions_on`.
    /// A pause is recorded in the memo of the workflow, which separates its workflow task from that
    /// of the decision: everything that a workflow does at a pause, it does in the same task on
    /// replay.
    ///
    pub fn until_paused(self) -> RunRequest<'a, R, RunOutcome<O>> {
        self.returning()
    }

    /// Returns the output as JSON, so that the agents of the run may have different output types.
    /// [`RunResult::parse`] reads it.
    pub fn untyped(self) -> RunRequest<'a, R, RunResult<Value>> {
        Self { outputs: Outputs::OfAnyType, ..self }.returning()
    }
}

impl<'a, R: AgentRunner, O> RunRequest<'a, R, RunOutcome<O>> {
    /// Returns the output as JSON, so that the agents of the run may have different output types.
    /// [`RunResult::parse`] reads it.
    pub fn untyped(self) -> RunRequest<'a, R, RunOutcome<Value>> {
        Self { outputs: Outputs::OfAnyType, ..self }.returning()
    }
}

impl<'a, R: AgentRunner, T> RunRequest<'a, R, T> {
    fn returning<U>(self) -> RunRequest<'a, R, U> {
        let Self { runner, agent, start, outputs, returns: _ } = self;
        RunRequest { runner, agent, start, outputs, returns: PhantomData }
    }
}

impl<'a, R: RunsTo<T>, T: 'a> IntoFuture for RunRequest<'a, R, T> {
    type Output = Result<T, R::Error>;
    type IntoFuture = R::Running<'a>;

    fn into_future(self) -> Self::IntoFuture {
        self.runner.run_to(self.agent, self.start, self.outputs)
    }
}

impl<R: AgentRunner, T> fmt::Debug for RunRequest<'_, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequest")
            .field("agent", &self.agent.name)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

/// A value that a run of the runner `R` can begin from.
///
/// | value | run |
/// |---|---|
/// | `&str`, `String` | a new run, from a user message |
/// | `Vec<Item>`, [`RunInput`] | a new run, from these items |
/// | [`RunState`] | the paused run of this state is resumed; also one that failed at a model call |
/// | [`Carried`] | the run of the previous workflow execution continues; only in a workflow |
///
/// It is implemented for these types only.
#[diagnostic::on_unimplemented(
    message = "a run of `{R}` cannot begin from `{Self}`",
    label = "not an input of a run",
    note = "pass a message (`&str` or `String`), items (`Vec<Item>` or `RunInput`), or the `RunState` of a paused run",
    note = "a `Carried` run is continued by the `Runner` of a workflow only"
)]
pub trait IntoRun<R: AgentRunner>: sealed::Sealed {
    /// Converts the value to the beginning of a run.
    #[doc(hidden)]
    fn into_start(self) -> R::Start;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for &str {}
impl sealed::Sealed for String {}
impl sealed::Sealed for Vec<Item> {}
impl sealed::Sealed for RunInput {}
impl sealed::Sealed for RunState {}
impl sealed::Sealed for Carried {}

impl<R: AgentRunner> IntoRun<R> for &str {
    fn into_start(self) -> R::Start {
        Run::Start(self.into()).into()
    }
}

impl<R: AgentRunner> IntoRun<R> for String {
    fn into_start(self) -> R::Start {
        Run::Start(self.into()).into()
    }
}

impl<R: AgentRunner> IntoRun<R> for Vec<Item> {
    fn into_start(self) -> R::Start {
        Run::Start(self.into()).into()
    }
}

impl<R: AgentRunner> IntoRun<R> for RunInput {
    fn into_start(self) -> R::Start {
        Run::Start(self).into()
    }
}

impl<R: AgentRunner> IntoRun<R> for RunState {
    fn into_start(self) -> R::Start {
        Run::Resume(Box::new(self)).into()
    }
}

/// A runner of one of the hosts.
pub trait AgentRunner {
    /// The error of a run on this host.
    type Error: From<RunFailure>;
    /// The beginning of a run on this host.
    type Start: From<Run>;
}

/// A runner whose runs can return a `T`: the result of a request, see [`RunEnd`].
pub trait RunsTo<T>: AgentRunner {
    /// The future of a run.
    type Running<'a>: Future<Output = Result<T, Self::Error>>
    where
        Self: 'a,
        T: 'a;

    /// Runs an agent. Nothing happens before the future is polled.
    fn run_to<'a>(&'a self, agent: &'a AgentDef, start: Self::Start, outputs: Outputs) -> Self::Running<'a>
    where
        T: 'a;
}

/// The result of a request: [`RunResult`] or [`RunOutcome`].
pub trait RunEnd: Sized {
    /// The output of the run.
    type Output;

    /// `true` if the run may end paused.
    const MAY_PAUSE: bool;

    /// Converts the end of a run.
    ///
    /// # Errors
    /// [`RunError::NeedsApproval`](crate::engine::RunError::NeedsApproval) of a paused run that must not
    /// end so.
    fn of(outcome: RunOutcome<Self::Output>) -> Result<Self, RunFailure>;
}

impl<O> RunEnd for RunResult<O> {
    type Output = O;

    const MAY_PAUSE: bool = false;

    fn of(outcome: RunOutcome<O>) -> Result<Self, RunFailure> {
        finished(outcome)
    }
}

impl<O> RunEnd for RunOutcome<O> {
    type Output = O;

    const MAY_PAUSE: bool = true;

    fn of(outcome: Self) -> Result<Self, RunFailure> {
        Ok(outcome)
    }
}
