//! Input guardrails that run beside the first turn: started before its model call, and awaited
//! before the results of the turn are used.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use super::{
    env::Env,
    guardrails::{Asked, Indexed, ask_input, ends_the_run, input_result, named, of_input},
    host::Host,
};
use crate::{
    agent::InputGuardrail,
    engine::{Engine, Resolution, RunError},
    tool::RunContext,
    wire::run_state::Admission,
};

/// The guardrails beside the first turn of a run, from their start to their last result.
#[derive(Default)]
pub(super) struct ParallelInputGuardrails<'g>(Option<Asking<'g>>);

struct Asking<'g> {
    guardrails: Vec<Indexed<'g, InputGuardrail>>,
    asked: Vec<Asked<'g>>,
    cancel: Box<dyn Fn() + 'g>,
}

impl<'g> ParallelInputGuardrails<'g> {
    /// Starts the guardrails at the first call in a run whose input is not admitted. If pure
    /// guardrails decide the result at once, returns the resolution for the engine, and no model
    /// call is scheduled.
    ///
    /// # Errors
    /// [`RunError`] of a pure guardrail that fails.
    pub(super) fn begin<H: Host>(
        &mut self,
        env: &'g Env<'_, H>,
        engine: &Engine,
    ) -> Result<Option<Resolution>, RunError> {
        if self.0.is_some() || engine.state().admission != Admission::ParallelDue {
            return Ok(None);
        }
        let agent = env.agent(env.graph.start())?;
        let guardrails: Vec<_> = of_input(env, agent).filter(|(_, guardrail)| guardrail.runs_in_parallel()).collect();
        let run = RunContext::new(engine.state().context.clone());
        let scope = &env.guard_scope;
        let asked = ask_input(env, scope, agent, &guardrails, engine.state(), &run);
        self.0 = Some(Asking { guardrails, asked, cancel: Box::new(|| env.host.cancel(scope)) });
        self.decided()
    }

    /// Returns the resolution for the engine if the result is already known.
    fn decided(&mut self) -> Result<Option<Resolution>, RunError> {
        let Some(asking) = &self.0 else { return Ok(None) };
        let has_ended = |asked: &Asked<'_>| matches!(asked, Asked::Answered(answer) if ends_the_run(answer));
        let is_decided = asking.asked.iter().any(has_ended);
        let is_complete = asking.asked.iter().all(|asked| matches!(asked, Asked::Answered(_)));
        if is_decided || is_complete { self.take().map(Some) } else { Ok(None) }
    }

    /// Takes the results so far as a resolution for the engine. Guardrails without a result are
    /// left out.
    fn take(&mut self) -> Result<Resolution, RunError> {
        let Some(Asking { guardrails, asked, .. }) = self.0.take() else {
            return Ok(Resolution::InputChecked { results: Vec::new(), more: false });
        };
        let answers = asked.into_iter().map(|asked| match asked {
            Asked::Answered(answer) => Some(answer),
            Asked::Asking(_) => None,
        });
        let results = named(&guardrails, answers, input_result)?;
        Ok(Resolution::InputChecked { results, more: false })
    }

    /// Awaits an effect of the first turn beside the guardrails. When one of them ends the run, the
    /// effect is cancelled and awaited, and its result is dropped.
    ///
    /// # Errors
    /// [`RunError`] of the guardrail that ends the run.
    pub(super) async fn beside<H: Host, T>(
        &mut self,
        env: &Env<'_, H>,
        engine: &mut Engine,
        scope: &H::Scope,
        effect: impl Future<Output = T>,
    ) -> Result<T, RunError> {
        if self.0.is_none() {
            return Ok(effect.await);
        }
        let mut effect = pin!(effect);
        let mut stopped = false;
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(outcome) = effect.as_mut().poll(cx) {
                return Poll::Ready(outcome);
            }
            if !stopped && self.poll(cx) {
                stopped = true;
                env.host.cancel(scope);
                return effect.as_mut().poll(cx);
            }
            Poll::Pending
        })
        .await;
        if !stopped {
            return Ok(outcome);
        }
        self.settle().await;
        match self.take().and_then(|found| engine.resolve(found)) {
            Err(error) => Err(error),
            Ok(()) => unreachable!("a guardrail ends the run by an error or by tripping"),
        }
    }

    /// Polls the pending guardrails in declaration order. Returns `true` if one of them ends the
    /// run.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> bool {
        let Some(asking) = &mut self.0 else { return false };
        for asked in &mut asking.asked {
            if let Asked::Asking(finding) = asked
                && let Poll::Ready(answer) = finding.as_mut().poll(cx)
            {
                *asked = Asked::Answered(answer);
            }
            if matches!(asked, Asked::Answered(answer) if ends_the_run(answer)) {
                return true;
            }
        }
        false
    }

    /// Awaits the results of all guardrails, or the first one that ends the run.
    ///
    /// # Errors
    /// [`RunError`] of the first guardrail, in declaration order, that fails.
    pub(super) async fn answer<H: Host>(
        &mut self,
        env: &'g Env<'_, H>,
        engine: &Engine,
    ) -> Result<Resolution, RunError> {
        if let Some(decided) = self.begin(env, engine)? {
            return Ok(decided);
        }
        self.settle().await;
        self.take()
    }

    /// Awaits all results, or the first one that ends the run; then cancels the other guardrails
    /// and awaits them as well.
    async fn settle(&mut self) {
        poll_fn(|cx| if self.poll(cx) || self.is_complete() { Poll::Ready(()) } else { Poll::Pending }).await;
        let Some(asking) = &mut self.0 else { return };
        (asking.cancel)();
        let mut ended = false;
        for asked in &mut asking.asked {
            let was_decided = ended;
            if let Asked::Asking(finding) = asked {
                let answer = finding.await;
                // A result that arrives after the run is decided depends on timing, so it is
                // dropped.
                if !was_decided {
                    *asked = Asked::Answered(answer);
                }
            }
            ended |= matches!(asked, Asked::Answered(answer) if ends_the_run(answer));
        }
    }

    fn is_complete(&self) -> bool {
        self.0.as_ref().is_none_or(|asking| asking.asked.iter().all(|asked| matches!(asked, Asked::Answered(_))))
    }

    /// Cancels and awaits the pending guardrails of a run that has ended for another reason.
    pub(super) async fn give_up(&mut self) {
        let Some(asking) = &mut self.0 else { return };
        (asking.cancel)();
        for asked in &mut asking.asked {
            if let Asked::Asking(finding) = asked {
                let _ = finding.await;
            }
        }
    }
}
