//! Guardrails of calls that are activities or agents.
//!
//! # Design
//! **A guardrail that fails fails the run.** The call is not made, or no model receives its output.
//! Otherwise an outage would let through the calls that the guardrail must stop.
//!
//! **Ids mark guardrails,** `input-guardrail-<turn>-<call>-<guardrail>-<time>` and
//! `output-guardrail-<turn>-<call>-<guardrail>`, so that readers of histories do not take them for
//! calls.

use futures::FutureExt;
use serde_json::{Map, Value};

use crate::{
    agent::{AgentDef, Judge},
    drive::{
        env::Env,
        guardrails::{self, Finding},
        host::Host,
        nested,
    },
    engine::RunError,
    tool::{CallInfo, RunContext, ToolDef, ToolGuardrailOutput},
    wire::{
        Item, ToolOutput,
        size::{Bytes, MOST_BYTES, encoded_len},
    },
};

/// Runs the guardrails of the calls of one response.
pub(super) struct CallGuardrails<'s, 'r, H: Host> {
    pub(super) env: &'s Env<'r, H>,
    /// Scope of the checks. Checks of inputs are cancelled when one of them ends the run.
    pub(super) scope: &'s H::Scope,
    pub(super) agent: &'s AgentDef,
    /// Scope of the run's idempotency keys.
    pub(super) key_scope: Option<String>,
}

/// The names of a guardrail of a call.
pub(super) struct GuardrailName {
    /// Name in error messages.
    pub(super) function: String,
    /// Id of its activity or of its run, without the prefix of the outer run.
    pub(super) effect: String,
}

/// A call that is checked, with its output in the phase after it.
pub(super) struct Subject<'c> {
    pub(super) info: &'c CallInfo,
    /// Index of the call in its response.
    pub(super) index: usize,
    pub(super) arguments: &'c str,
    pub(super) output: Option<&'c ToolOutput>,
}

impl Subject<'_> {
    /// Returns the call as a guardrail that is not a function receives it.
    fn members(&self) -> Map<String, Value> {
        let mut members = Map::from_iter([
            ("tool".to_owned(), self.info.tool.clone().into()),
            ("arguments".to_owned(), self.arguments.into()),
        ]);
        if let Some(output) = self.output {
            members.insert("output".to_owned(), output.to_text().into());
        }
        members
    }
}

impl<'s, H: Host> CallGuardrails<'s, '_, H> {
    /// Runs an activity, which receives what its tool takes.
    pub(super) fn activity(
        &self,
        tool: &'s ToolDef,
        guardrail: GuardrailName,
        subject: &Subject<'_>,
        run: &RunContext,
    ) -> Finding<'s, ToolGuardrailOutput> {
        let GuardrailName { function, effect } = guardrail;
        let Subject { info, .. } = subject;
        let mut arguments = subject.members();
        arguments.insert("agent".to_owned(), info.agent.clone().into());
        arguments.insert("call_id".to_owned(), info.call_id.clone().into());
        let takes = tool.accepts()["properties"].as_object();
        if let Some(unknown) = takes.and_then(|takes| takes.keys().find(|name| !arguments.contains_key(*name))) {
            let known = arguments.keys().map(|name| &**name).collect::<Vec<_>>().join(", ");
            let source = format!("it takes an argument {unknown:?}; a guardrail of tools may take {known}");
            let error = RunError::Function { function, agent: info.agent.clone(), source: source.into() };
            return std::future::ready(Err(error)).boxed_local();
        }
        arguments.retain(|name, _| takes.is_some_and(|takes| takes.contains_key(name)));
        let bytes = encoded_len(&arguments).unwrap_or_default();
        if bytes > MOST_BYTES {
            let source = format!(
                "the call and its output are {}, the limit of an activity is {}; limit the output of tool {:?}, or \
                 check it by a function",
                Bytes(bytes),
                Bytes(MOST_BYTES),
                info.tool
            );
            let error = RunError::Function { function, agent: info.agent.clone(), source: source.into() };
            return std::future::ready(Err(error)).boxed_local();
        }
        let call = guardrails::Call { function, arguments, run, turn: info.turn, key_scope: self.key_scope.as_deref() };
        guardrails::activity(self.env, self.scope, self.agent, tool, effect, call)
    }

    /// Runs an agent.
    pub(super) fn agent(
        &self,
        agent: &'s AgentDef,
        judge: &'s Judge<ToolGuardrailOutput>,
        guardrail: GuardrailName,
        subject: &Subject<'_>,
        run: &RunContext,
    ) -> Finding<'s, ToolGuardrailOutput> {
        let GuardrailName { function, effect } = guardrail;
        let name = function.clone();
        let input = vec![Item::user(Value::Object(subject.members()).to_string())];
        let output = nested::judge_tool(self.env, self.scope, agent, effect, input, run.values().clone());
        let asked_by = self.agent.name.clone();
        let failed = move |error: RunError| match error {
            RunError::Cancelled { .. } => error,
            error => RunError::Function { function, agent: asked_by, source: error.into() },
        };
        let judging = guardrails::await_judge(name, self.agent, judge, output);
        async move { judging.await.map_err(failed) }.boxed_local()
    }

    /// Awaits a check; an error cancels the other checks.
    pub(super) async fn cancel_others_on_error<T>(
        &self,
        check: impl Future<Output = Result<T, RunError>>,
    ) -> Result<T, RunError> {
        let checked = check.await;
        if checked.is_err() {
            self.env.host.cancel(self.scope);
        }
        checked
    }
}

/// Returns the first error of checks that ran at the same time. Cancellations rank last.
pub(super) fn first_error(checks: impl IntoIterator<Item = Result<(), RunError>>) -> Result<(), RunError> {
    let mut cancelled = None;
    for error in checks.into_iter().filter_map(Result::err) {
        match error {
            RunError::Cancelled { .. } => cancelled = cancelled.or(Some(error)),
            error => return Err(error),
        }
    }
    cancelled.map_or(Ok(()), Err)
}
