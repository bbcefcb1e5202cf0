//! Runs: from an input, or from the state of a run that paused.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Runner;
use crate::{
    agent::Agent,
    drive::{Run, RunFailure, RunInput, RunOutcome, RunResult, finished},
    wire::RunState,
    workflow::inbox::Waits,
};

impl<W: 'static> Runner<W> {
    /// Runs an agent, and the agents it hands off to, until there is a final output. With an
    /// [inbox](Self::with_inbox), the run waits for decisions on its calls without a time limit.
    ///
    /// # Errors
    /// [`RunFailure`], with the state of the run. An invalid graph fails before any model call, and
    /// so does one whose agents have different output types: see [`run_any`](Self::run_any).
    /// Without an inbox, a call that needs approval fails the run.
    pub async fn run<O>(&self, agent: &Agent<O>, input: impl Into<RunInput>) -> Result<RunResult<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        finished(self.typed(agent, Run::from(input.into()).into(), Waits::UntilDecided).await?)
    }

    /// Like [`run`](Self::run) for agents with different output types; [`RunResult::parse`] reads
    /// the output.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped(agent, Run::from(input.into()).into(), Waits::UntilDecided).await?)
    }

    /// Like [`run`](Self::run) for a run that may end paused, with calls that wait for a decision.
    /// The run takes the decisions that are already in its inbox, and does not wait for more.
    ///
    /// # Determinism
    /// Safe. To wait for a decision afterwards, use the condition [`AgentInbox::has_decisions_on`].
    /// A pause is recorded in the memo of the workflow
    /// ([`AskedQuestions`](crate::wire::asked_questions::AskedQuestions)), which separates its
    /// workflow task from that of the decision: everything that a workflow does at a pause, it does
    /// in the same task on replay.
    ///
    /// [`AgentInbox::has_decisions_on`]: crate::workflow::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_until_paused<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, Run::from(input.into()).into(), Waits::NotAtAll).await
    }

    /// Like [`run_until_paused`](Self::run_until_paused) for agents with different output types.
    ///
    /// # Determinism
    /// Safe. To wait for a decision afterwards, use the condition [`AgentInbox::has_decisions_on`].
    /// A pause is recorded in the memo of the workflow
    /// ([`AskedQuestions`](crate::wire::asked_questions::AskedQuestions)), which separates its
    /// workflow task from that of the decision: everything that a workflow does at a pause, it does
    /// in the same task on replay.
    ///
    /// [`AgentInbox::has_decisions_on`]: crate::workflow::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any_until_paused<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, Run::from(input.into()).into(), Waits::NotAtAll).await
    }

    /// Resumes a paused run, after decisions on its calls: in this workflow, after continue-as-new,
    /// or with the state of a run that paused elsewhere. With an [inbox](Self::with_inbox), the run
    /// waits for the decisions that are missing; without an inbox, undecided calls keep the run
    /// paused.
    ///
    /// The state is trusted: it records what was checked and decided. A state that a caller has
    /// sent could skip guardrails and approvals, so store states where callers cannot write.
    ///
    /// In an execution that was continued as new, a state that does not fit the agents fails the
    /// workflow *task*, which is retried until a worker of another build continues the run. That
    /// applies regardless of the origin of the state: do not resume a state there that a caller has
    /// sent.
    ///
    /// # Errors
    /// [`RunFailure`]. In other executions, a state that does not fit the agents fails with a list
    /// of what is missing.
    pub async fn resume<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, state.into(), Waits::UntilDecided).await
    }

    /// Like [`resume`](Self::resume) for agents with different output types.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_any<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, state.into(), Waits::UntilDecided).await
    }

    /// Like [`resume`](Self::resume), but does not wait: the run takes the decisions that are
    /// already in its inbox.
    ///
    /// # Determinism
    /// Safe. To wait for a decision afterwards, use the condition [`AgentInbox::has_decisions_on`].
    /// A pause is recorded in the memo of the workflow
    /// ([`AskedQuestions`](crate::wire::asked_questions::AskedQuestions)), which separates its
    /// workflow task from that of the decision: everything that a workflow does at a pause, it does
    /// in the same task on replay.
    ///
    /// [`AgentInbox::has_decisions_on`]: crate::workflow::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_until_paused<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, state.into(), Waits::NotAtAll).await
    }

    /// Like [`resume_until_paused`](Self::resume_until_paused) for agents with different output
    /// types.
    ///
    /// # Determinism
    /// Safe. To wait for a decision afterwards, use the condition [`AgentInbox::has_decisions_on`].
    /// A pause is recorded in the memo of the workflow
    /// ([`AskedQuestions`](crate::wire::asked_questions::AskedQuestions)), which separates its
    /// workflow task from that of the decision: everything that a workflow does at a pause, it does
    /// in the same task on replay.
    ///
    /// [`AgentInbox::has_decisions_on`]: crate::workflow::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_any_until_paused<O>(
        &self,
        agent: &Agent<O>,
        state: RunState,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, state.into(), Waits::NotAtAll).await
    }
}
