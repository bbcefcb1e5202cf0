//! The execution of one call: runs the body as its binding requires, and converts the result.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::{Body, Call, batch::Batches, sizes, told::told};
use crate::{
    agent::AgentTool,
    drive::{
        EffectId,
        env::Env,
        guard,
        host::{Host, LoopEvent, McpEffectError, ToolAnswer, ToolEffect, ToolEffectError},
        keywords,
        mcp_session::{self, Asking},
        nested::{AgentCall, AgentInput, call_agent},
        tool_failure::{self, FailedCall},
    },
    engine::{CallResult, RunError},
    gate::Gate,
    tool::{
        InlineBody, McpBinding, McpServer, RemoteBinding, RunContext, ToolBinding, ToolContext, ToolDef, ToolFailure,
        ToolFailureKind, bounded, named_keys,
        schema::{self, InvalidArguments, Validate},
    },
    wire::{
        PassedGate, RecordedFailure, RunState, SideData, ToolOutput, Usage,
        event::FailedCallNote,
        remote_call::RemoteTarget,
        size::{Bytes, encoded_len},
        tool_call_meta::ToolCallMeta,
    },
};

/// A call whose body is to run.
pub(super) struct CallExecution<'c, 't, 'r, H: Host> {
    pub(super) env: &'c Env<'r, H>,
    pub(super) scope: &'c H::Scope,
    pub(super) tool: &'t ToolDef,
    pub(super) call: &'c Call<'c>,
    /// The run context and the usage of the calls so far; shared by all calls of a turn.
    pub(super) context: &'c RefCell<Map<String, Value>>,
    pub(super) usage: &'c RefCell<Usage>,
    pub(super) batches: &'c Batches<'t, H>,
}

impl<H: Host> CallExecution<'_, '_, '_, H> {
    /// Runs the body, or continues a paused nested run. A failure that is reported to the model is
    /// an output.
    pub(super) async fn run(&self, paused: Option<Box<RunState>>) -> Result<Body, RunError> {
        if let Some(output) = &self.call.supplied {
            return self.fitted(self.redacted(output.clone()), None);
        }
        let arguments = match (&paused, self.arguments()) {
            (Some(_), _) => Map::new(),
            (None, Ok(arguments)) => arguments,
            (None, Err(invalid)) => {
                let failure = ToolFailure::from(invalid);
                let reason = failure.to_string();
                return self.fail_call(FailedCall::of_arguments(failure), &reason);
            }
        };
        let id = self.env.effect(format_args!("{}-tool-{}", self.call.info.turn, self.call.index));
        match self.tool.binding() {
            ToolBinding::Inline(body) => self.inline(body, arguments),
            ToolBinding::Agent(agent) => {
                let text = || arguments.get("input").and_then(Value::as_str).unwrap_or_default().to_owned();
                let input = paused.map_or_else(|| AgentInput::Text(text()), AgentInput::Paused);
                self.agent(agent, id, input).await
            }
            ToolBinding::Client => Ok(Body::needs_output()),
            ToolBinding::Activity { .. }
            | ToolBinding::RemoteActivity(_)
            | ToolBinding::Mcp(_)
            | ToolBinding::Remote(_)
            | ToolBinding::Workflow(_)
            | ToolBinding::ChildWorkflow(_)
            | ToolBinding::ChildAgent(_) => self.through_host(id, arguments).await,
            #[cfg(feature = "nexus")]
            ToolBinding::Nexus(_) => self.through_host(id, arguments).await,
        }
    }

    fn arguments(&self) -> Result<Map<String, Value>, InvalidArguments> {
        let by = |validate: Validate| {
            schema::parse_arguments_with(validate, self.tool.name(), &self.call.arguments, self.tool.accepts())
        };
        keywords::judged(self.env.host, by(schema::validate), || by(schema::validate_earlier_keywords).ok())
    }

    fn inline(&self, inline: &InlineBody, arguments: Map<String, Value>) -> Result<Body, RunError> {
        let info = &self.call.info;
        let mut ctx = ToolContext::new(info.clone(), RunContext::new(self.context.take()))
            .with_settings(self.tool.settings().clone())
            .with_deltas(self.env.host.tool_deltas(&self.env.path, self.tool));
        let returned = guard::guarded(|| inline(&mut ctx, arguments));
        let side_data = ctx.take_side_data();
        self.context.replace(ctx.into_run().into_values());
        let checked =
            returned.map(|outcome| outcome.and_then(|output| bounded(self.tool, output, side_data.bounds.as_ref())));
        match checked {
            Ok(Ok(output)) => self.fitted(self.redacted(output), side_data.into_member()),
            Ok(Err(error)) => {
                let mut reason = error.with_causes();
                if let Some(redaction) = self.tool.redaction() {
                    reason = redaction.text(&reason);
                }
                let (failure, _) = error.into_parts();
                self.fail_call(self.redacted_failure(failure.into()), &reason)
            }
            Err(panic) => self.failed(ToolFailure::new(ToolFailureKind::Panicked, panic.to_string()).into()),
        }
    }

    async fn through_host(&self, id: EffectId, arguments: Map<String, Value>) -> Result<Body, RunError> {
        let (tool, info) = (self.tool, &self.call.info);
        // The values of a workflow tool do not leave the workflow.
        let stays = matches!(tool.binding(), ToolBinding::Workflow(_));
        let context =
            if stays { self.context.borrow().clone() } else { named_keys(&self.context.borrow(), tool.context_keys()) };
        if !stays && let Some(failure) = sizes::of_request(info, &arguments, &context)? {
            let reason = failure.message.clone();
            return self.fail_call(FailedCall::of_arguments(failure), &reason);
        }
        // For these bindings, history records the failure of the activity, and the worker has
        // already applied the redaction and the size limit.
        let is_ours =
            matches!(tool.binding(), ToolBinding::Activity { .. } | ToolBinding::Mcp(_) | ToolBinding::Remote(_));
        let answer = if let ToolBinding::Mcp(binding) = tool.binding() {
            let meta = self.meta(binding.server())?;
            self.at_server(binding, meta, id, arguments, context).await
        } else {
            let info = info.clone();
            let fails_run = tool_failure::fails_run(self.env.config, tool);
            let remote = match tool.binding() {
                ToolBinding::Remote(binding) => Some(self.remote_target(binding)),
                _ => None,
            };
            let (mcp, mcp_session) = (None, None);
            let (untrusted, trace) = (self.env.is_untrusted(), self.env.config.trace_settings());
            let meta = self.call_meta();
            let effect = ToolEffect {
                tool,
                info,
                id,
                arguments,
                context,
                mcp,
                mcp_session,
                remote,
                meta,
                fails_run,
                untrusted,
                gates: self.passed_gates(),
                user: self.env.config.user.clone(),
                trace,
            };
            self.batches.call(effect).await
        };
        match answer {
            Ok(ToolAnswer { question: Some(question), .. }) => Ok(Body::needs_input(question)),
            Ok(ToolAnswer { output, context_patch, side_data, usage, question: None }) => {
                self.usage.borrow_mut().add(&usage);
                if let Some(key) = undeclared_key(tool, context_patch.as_ref()).filter(|_| !stays) {
                    let reason = format!(
                        "tool {:?} changes key {key:?} of the run context, which it does not declare; add it to the \
                         context keys of the tool",
                        tool.name()
                    );
                    let failure = ToolFailure::new(ToolFailureKind::Failed, &*reason);
                    return self.fail_call(failure.into(), &reason);
                }
                let is_guarded =
                    !tool.output_guardrails().is_empty() || !self.env.config.tool_output_guardrails.is_empty();
                if tool.binding().leaves_a_reply() && !is_guarded {
                    self.env.shown.borrow_mut().insert(info.call_id.clone());
                }
                let body = if is_ours {
                    Body { side_data, ..Body::output(output) }
                } else {
                    let bounds = side_data.as_ref().and_then(|data| data.bounds.as_ref());
                    match bounded(tool, output, bounds) {
                        Ok(output) => self.fitted(self.redacted(output), side_data)?,
                        Err(error) => self.failed(error.into_parts().0.into())?,
                    }
                };
                Ok(Body { context_patch, ..body })
            }
            Err(error) => {
                if let ToolEffectError::Failed { usage, .. } = &error {
                    self.usage.borrow_mut().add(usage);
                }
                let failed = tool_failure::from_effect_error(info, error)?;
                if is_ours { self.settled(failed) } else { self.failed(failed) }
            }
        }
    }

    /// Calls a tool of an MCP server with this `_meta`, in the run's session if the server is
    /// stateful. Opens a lost session again if the server's terms allow it, unless the call has
    /// begun and must not be made twice.
    async fn at_server(
        &self,
        binding: &McpBinding,
        meta: Map<String, Value>,
        id: EffectId,
        arguments: Map<String, Value>,
        context: Map<String, Value>,
    ) -> Result<ToolAnswer, ToolEffectError> {
        let (env, info, server) = (self.env, &self.call.info, binding.server());
        let asking = Asking { agent: &info.agent, turn: info.turn };
        let answers = &self.call.answers;
        // Each answer of people makes the call another activity.
        let first = match answers.len() {
            0 => id,
            asked => env.effect(format_args!("{}-tool-{}-asked-{asked}", info.turn, self.call.index)),
        };
        let (mut time, mut id) = (0, first.clone());
        loop {
            let mcp_session = match mcp_session::session(env, server, asking, self.scope).await {
                Ok(session) => session,
                Err(McpEffectError::Cancelled) => return Err(ToolEffectError::Cancelled),
                Err(McpEffectError::Failed(source) | McpEffectError::SessionLost(source)) => {
                    return Err(ToolEffectError::Host(source));
                }
            };
            let effect = ToolEffect {
                tool: self.tool,
                info: info.clone(),
                id: id.clone(),
                arguments: arguments.clone(),
                context: context.clone(),
                mcp: Some(binding.target(
                    meta.clone(),
                    mcp_session.as_ref().map(|session| session.id.clone()),
                    answers.clone(),
                )),
                mcp_session: mcp_session.clone(),
                remote: None,
                meta: self.call_meta(),
                fails_run: tool_failure::fails_run(env.config, self.tool),
                untrusted: env.is_untrusted(),
                gates: Vec::new(),
                user: env.config.user.clone(),
                trace: env.config.trace_settings(),
            };
            let (began, source) = match env.host.call_tool(effect, self.scope).await {
                Err(ToolEffectError::SessionLost { began, source }) => (began, source),
                answer => return answer,
            };
            time += 1;
            if let Err(lost) = mcp_session::lost(env, server, mcp_session.as_ref(), time, source) {
                return Err(ToolEffectError::SessionLost { began, source: Box::new(lost) });
            }
            if began && !binding.options().idempotent {
                let message = format!("the session with MCP server {:?} was lost", server.name());
                return Err(ToolFailure::new(ToolFailureKind::OutcomeUnknown, message).into());
            }
            id = first.again(time);
        }
    }

    /// Returns the gates that follow the call into another workflow.
    fn passed_gates(&self) -> Vec<PassedGate> {
        match self.tool.binding() {
            ToolBinding::ChildAgent(_) => self.env.config.gate.as_ref().map(Gate::passed_gates).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Returns the target of a call at a provider, in the run's session.
    fn remote_target(&self, binding: &RemoteBinding) -> RemoteTarget {
        let (session_id, parent_call) = self.call.info.session_and_parent();
        binding.target(session_id, parent_call)
    }

    /// Returns session, turn and ids of the call.
    fn call_meta(&self) -> ToolCallMeta {
        ToolCallMeta {
            run_id: String::new(),
            session_id: self.call.info.session_id().unwrap_or_default().to_owned(),
            turn_id: self.call.info.turn.to_string(),
            tool_call_id: self.call.info.idempotency_key().to_owned(),
            parent_tool_call_id: self.call.info.parent_call_id().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the `_meta` of a request to the server.
    ///
    /// # Errors
    /// [`RunError::Panicked`] of the author's function that returns it.
    fn meta(&self, server: &McpServer) -> Result<Map<String, Value>, RunError> {
        Ok(match server.meta_rule() {
            None => Map::new(),
            Some(meta) => {
                let function = || format!("the _meta of MCP server {:?}", server.name());
                let run = RunContext::new(self.context.borrow().clone());
                guard::call(function, &self.call.info.agent, || meta(&run, &self.call.info))?
            }
        })
    }

    async fn agent(&self, agent: &AgentTool, id: EffectId, input: AgentInput) -> Result<Body, RunError> {
        let now = self.context.borrow().clone();
        let called = call_agent(self.env, self.scope, agent, &self.call.info, id.to_string(), input, now).await;
        let AgentCall { body, context_patch, usage } = called;
        self.usage.borrow_mut().add(&usage);
        let body = match body {
            Err(RunError::Cancelled { agent, turn }) => Err(RunError::Cancelled { agent, turn }),
            Err(error) => {
                let reason = error.to_string();
                self.fail_call(FailedCall::of_agent(error), &reason)
            }
            Ok(Body { result: CallResult::Output(output), .. }) => self.fitted(output, None),
            body => body,
        };
        body.map(|body| Body { context_patch, ..body })
    }

    /// Reports the failure of a body to the model and to observers, after the tool's redaction: no
    /// worker has applied it.
    fn failed(&self, failed: FailedCall) -> Result<Body, RunError> {
        let failed = self.redacted_failure(failed);
        let reason = failed.failure.reason().to_owned();
        self.fail_call(failed, &reason)
    }

    fn redacted_failure(&self, failed: FailedCall) -> FailedCall {
        match self.tool.redaction() {
            Some(redaction) => failed.redacted(redaction),
            None => failed,
        }
    }

    /// Reports a failed call to the model, and its reason to observers.
    fn fail_call(&self, failed: FailedCall, reason: &str) -> Result<Body, RunError> {
        let info = &self.call.info;
        let reason = &*tool_failure::truncated_reason(reason);
        self.env.host.observe(&LoopEvent::CallRefused { call: info, reason });
        let failure = RecordedFailure::short(failed.failure.activity_failure_type(), reason.to_owned());
        let note = FailedCallNote { call_id: info.call_id.clone(), tool: info.tool.clone(), failure };
        self.env.failed_calls.borrow_mut().push((self.call.index, note));
        self.settled(failed)
    }

    /// Reports a failed call to the model; observers already have the reason.
    fn settled(&self, failed: FailedCall) -> Result<Body, RunError> {
        let failed = failed.of_call(&self.call.arguments);
        let failure = Some(Box::new(failed.failure.clone()));
        let output = tool_failure::settle(self.env.config, self.tool, &self.call.info, failed)?;
        let output = told(self.env, output);
        Ok(Body { failure, ..Body::output(output) })
    }

    /// Applies the tool's size limit to an output that no worker has checked: the output is also
    /// sent to the model.
    fn fitted(&self, output: ToolOutput, side_data: Option<Box<SideData>>) -> Result<Body, RunError> {
        let side_data = side_data.map(|data| match self.tool.redaction() {
            Some(redaction) => Box::new(redaction.side_data(*data)),
            None => data,
        });
        let limit = self.tool.output_limit();
        let beside = side_data.as_ref().map_or(0, |data| encoded_len(data).unwrap_or_default());
        if beside > limit.bytes {
            let (name, beside, limit) = (self.tool.name(), Bytes(beside), Bytes(limit.bytes));
            let message = format!(
                "tool {name:?} returns {beside} of data for other readers than the model, over its limit of {limit}"
            );
            let failure = ToolFailure::new(ToolFailureKind::Oversized, &*message);
            return self.fail_call(failure.into(), &message);
        }
        match limit.fit(self.tool.name(), output) {
            Ok(output) => Ok(Body { side_data, ..Body::output(output) }),
            Err(too_large) => {
                let reason = too_large.to_string();
                self.fail_call(ToolFailure::from(too_large).into(), &reason)
            }
        }
    }

    fn redacted(&self, output: ToolOutput) -> ToolOutput {
        match self.tool.redaction() {
            Some(redaction) => redaction.output(output),
            None => output,
        }
    }
}

/// Returns the first key that a tool changes and does not declare. The tool did not receive such a
/// key, and would overwrite a value that it has not seen.
fn undeclared_key<'p>(tool: &ToolDef, patch: Option<&'p Value>) -> Option<&'p str> {
    let mut changed = patch?.as_object()?.keys();
    changed.find(|key| !tool.context_keys().contains(key)).map(|key| &**key)
}
