//! Runs: from an input, from the state of a run that paused, or from a carried run.

use std::sync::Arc;

use futures::{FutureExt, future::LocalBoxFuture};
use serde::de::DeserializeOwned;
use temporal_agents_core::{
    agent::{Agent, AgentDef},
    drive::{AgentRunner, IntoRun, Outputs, RunEnd, RunRequest, RunResult, RunsTo},
    wire::Carried,
};

use super::{
    Runner,
    begin::{Beginning, Start},
};
use crate::workflow::{effect::failure::RunFailed, inbox::Waits};

impl<W: 'static> Runner<W> {
    /// Runs an agent, and the agents it hands off to, until there is a final output. With an
    /// [inbox](Self::with_inbox), the run waits for decisions on its calls without a time limit.
    ///
    /// The run begins from a message, from items, from the state of a paused run, or from a carried
    /// run: see [`IntoRun`]. It begins when the request is awaited;
    /// [`until_paused`](RunRequest::until_paused) and [`untyped`](RunRequest::untyped) change what
    /// it returns.
    ///
    /// ```
    /// use temporal_agents::{Agent, Runner, run::RunOutcome};
    /// # use temporal_agents::{wire::RunState, workflow::RunFailed};
    /// # async fn example<W: 'static>(
    /// #     runner: Runner<W>, triage: Agent, paused: RunState,
    /// # ) -> Result<(), RunFailed> {
    ///
    /// let result = runner.run(&triage, "Is it warm in Oslo?").await?;
    /// let answer: String = result.final_output;
    ///
    /// // The agents that the run hands off to may have other output types.
    /// let json = runner.run(&triage, "Is it warm in Oslo?").untyped().await?.final_output;
    ///
    /// // Resumes a run, until it has an output or needs another decision.
    /// match runner.run(&triage, paused).until_paused().await? {
    ///     RunOutcome::Finished(result) => println!("{}", result.final_output),
    ///     RunOutcome::Paused(paused) => println!("{} decisions", paused.interruptions().len()),
    /// }
    /// # let _ = (answer, json);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # A paused run
    /// A run from a [`RunState`](temporal_agents_core::wire::RunState) is resumed, after decisions on its calls:
    /// in this workflow, after continue-as-new, or with the state of a run that paused elsewhere.
    /// With an [inbox](Self::with_inbox), the run waits for the decisions that are missing. Without
    /// an inbox, undecided calls keep the run paused: the request fails, or returns the paused run
    /// if it is [`until_paused`](RunRequest::until_paused).
    ///
    /// The state is trusted: it records what was checked and decided. A state that a caller has
    /// sent could skip guardrails and approvals, so store states where callers cannot write.
    ///
    /// In an execution that was continued as new, a state that does not fit the agents fails the
    /// workflow *task*, which is retried until a worker of another build continues the run. That
    /// applies regardless of the origin of the state: do not resume a state there that a caller has
    /// sent.
    ///
    /// # A carried run
    /// A run from a [`Carried`] continues the run that the previous execution has [carried
    /// over](Self::continue_with), as if the execution had not ended.
    ///
    /// A caller with permission to start the workflow writes its input, and a run in it would begin
    /// past its guardrails, with decisions that no person has made. So it is accepted only if the
    /// server says that the workflow itself has continued as new. It is refused in an execution
    /// that a caller has started, in a retry of the workflow, and under a cron schedule: these
    /// begin with an input that a caller may have written. A workflow that continues as new itself
    /// must not pass on a [`Carried`] that a caller has sent.
    ///
    /// A run that a previous execution has left, but that this build cannot read or whose state
    /// does not fit these agents, is not lost: the workflow *task* fails with a message that names
    /// the agent, the tool and the remedy, and is retried until a worker of another build continues
    /// the run.
    ///
    /// # Errors
    /// The request fails with a [`RunFailed`], with the state of the run. An invalid graph fails
    /// before any model call, and so does one whose agents have different output types, unless the
    /// request is [`untyped`](RunRequest::untyped). Without an inbox, a call that needs approval
    /// fails the run, unless the request is [`until_paused`](RunRequest::until_paused).
    ///
    /// In an execution that was not continued as new, a state that does not fit the agents fails
    /// with a list of what is missing. A carried run that no previous execution has left fails with
    /// [`RunError::Refused`](temporal_agents_core::engine::RunError::Refused), one whose state cannot be loaded with
    /// [`RunError::Continuation`](temporal_agents_core::engine::RunError::Continuation).
    pub fn run<'a, O>(&'a self, agent: &'a Agent<O>, from: impl IntoRun<Self>) -> RunRequest<'a, Self, RunResult<O>> {
        RunRequest::new(self, agent, from)
    }
}

impl<W: 'static> AgentRunner for Runner<W> {
    type Error = RunFailed;
    type Start = Start;
}

impl<W: 'static, T: RunEnd<Output: DeserializeOwned>> RunsTo<T> for Runner<W> {
    type Running<'a>
        = LocalBoxFuture<'a, Result<T, RunFailed>>
    where
        T: 'a;

    fn run_to<'a>(&'a self, agent: &'a AgentDef, start: Start, outputs: Outputs) -> Self::Running<'a>
    where
        T: 'a,
    {
        let waits = if T::MAY_PAUSE { Waits::NotAtAll } else { Waits::UntilDecided };
        let agent = Arc::new(agent.clone());
        async move { Ok(T::of(self.run_to_outcome(&agent, Beginning::Requested(start), waits, outputs).await?)?) }
            .boxed_local()
    }
}

impl<W: 'static> IntoRun<Runner<W>> for Carried {
    fn into_start(self) -> Start {
        Start::Before(Box::new(self))
    }
}
