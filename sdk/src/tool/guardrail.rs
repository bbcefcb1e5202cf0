//! Guardrails of a single tool: before its body runs, and on what it returns.

use std::{fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{context::CallInfo, run_context::RunContext};
use crate::wire::{ToolOutput, run_state::ToolGuardrailBehavior};

/// What a guardrail of a tool finds.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolGuardrailOutput {
    /// What happens with the call.
    pub behavior: ToolGuardrailBehavior,
    /// What there is to say about it; reported with the result.
    pub output_info: Value,
}

impl ToolGuardrailOutput {
    /// The call goes on.
    pub fn allow() -> Self {
        Self { behavior: ToolGuardrailBehavior::Allow, output_info: Value::Null }
    }

    /// The model gets this text instead of the output; before the body, the body does not run.
    pub fn reject_content(message: impl Into<String>) -> Self {
        Self { behavior: ToolGuardrailBehavior::RejectContent { message: message.into() }, output_info: Value::Null }
    }

    /// The run ends.
    pub fn raise_exception() -> Self {
        Self { behavior: ToolGuardrailBehavior::RaiseException, output_info: Value::Null }
    }

    /// Says something about it; what cannot be written as JSON is left out.
    #[must_use]
    pub fn info(mut self, info: impl Serialize) -> Self {
        self.output_info = serde_json::to_value(info).unwrap_or(Value::Null);
        self
    }
}

/// What a guardrail of a tool knows.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolGuardrailContext<'a> {
    /// The call.
    pub call: &'a CallInfo,
    /// The arguments as the model wrote them: JSON text, not yet checked.
    pub arguments: &'a str,
    /// The run context.
    pub run: &'a RunContext,
}

impl<'a> ToolGuardrailContext<'a> {
    /// A check of this call; unit tests of guardrails make one, too.
    pub fn new(call: &'a CallInfo, arguments: &'a str, run: &'a RunContext) -> Self {
        Self { call, arguments, run }
    }
}

type CheckCall = Arc<dyn Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync>;
type CheckReturn = Arc<dyn Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync>;

/// A check before a tool's body runs, of the raw arguments.
///
/// # Determinism
/// It runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolInputGuardrail {
    name: String,
    check: CheckCall,
}

impl ToolInputGuardrail {
    /// This function as a guardrail.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Arc::new(check) }
    }

    /// The name it is reported under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks a call.
    pub fn check(&self, ctx: &ToolGuardrailContext<'_>) -> ToolGuardrailOutput {
        (self.check)(ctx)
    }
}

/// A check of what a tool returned.
///
/// # Determinism
/// It runs in the workflow, again on replay: no clock, no randomness, no I/O.
#[derive(Clone)]
pub struct ToolOutputGuardrail {
    name: String,
    check: CheckReturn,
}

impl ToolOutputGuardrail {
    /// This function as a guardrail.
    pub fn new(
        name: impl Into<String>,
        check: impl Fn(&ToolGuardrailContext<'_>, &ToolOutput) -> ToolGuardrailOutput + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), check: Arc::new(check) }
    }

    /// The name it is reported under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks an output.
    pub fn check(&self, ctx: &ToolGuardrailContext<'_>, output: &ToolOutput) -> ToolGuardrailOutput {
        (self.check)(ctx, output)
    }
}

impl fmt::Debug for ToolInputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolInputGuardrail").field(&self.name).finish()
    }
}

impl fmt::Debug for ToolOutputGuardrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolOutputGuardrail").field(&self.name).finish()
    }
}
