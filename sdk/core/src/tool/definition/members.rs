//! Accessors of a definition, for the code that offers, calls and checks the tool.

use serde_json::{Map, Value};

use super::{LOCAL_BYTES, ToolDef, ToolIssue};
use crate::{
    agent::AgentDef,
    tool::{
        approval::NeedsApproval,
        binding::ToolBinding,
        enabled::Enabled,
        guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
        native::NativeTool,
        on_error::OnToolError,
        oversized::OutputLimit,
        redaction::Redaction,
        schema,
        side_by_side::SideBySide,
        state::StateRequirement,
    },
    wire::{GateMode, NativeKind, ToolSpec, digest::Digest},
};

impl ToolDef {
    /// Returns the rule that decides which calls wait for a decision.
    pub fn approval_rule(&self) -> &NeedsApproval {
        &self.approval
    }

    /// Returns the rule that decides when the tool is offered.
    pub fn enabled_rule(&self) -> &Enabled {
        &self.enabled
    }

    /// Returns the checks that run before the body.
    pub fn input_guardrails(&self) -> &[ToolInputGuardrail] {
        &self.input_guardrails
    }

    /// Returns the checks of the output.
    pub fn output_guardrails(&self) -> &[ToolOutputGuardrail] {
        &self.output_guardrails
    }

    /// Returns the activities of the tool's guardrails.
    #[doc(hidden)]
    pub fn guardrail_activities(&self) -> impl Iterator<Item = &Self> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().activity()))
    }

    /// Returns the agents that are guardrails of the tool.
    #[doc(hidden)]
    pub fn guardrail_agents(&self) -> impl Iterator<Item = &AgentDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent()))
    }

    /// Returns the rule for failed calls.
    pub fn on_error_rule(&self) -> &OnToolError {
        &self.on_error
    }

    /// Returns the limit for the tool's outputs.
    #[doc(hidden)]
    pub fn output_limit(&self) -> OutputLimit {
        match &self.binding {
            ToolBinding::Activity { options, .. } if options.local && !self.has_explicit_limit => {
                OutputLimit { bytes: LOCAL_BYTES, ..self.output_limit }
            }
            _ => self.output_limit,
        }
    }

    /// Returns the redaction that is applied to everything the tool returns.
    #[doc(hidden)]
    pub fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// Returns the limits on calls that run at the same time.
    pub(crate) fn side_by_side(&self) -> &SideBySide {
        &self.side_by_side
    }

    /// Returns `true` if calls of the tool carry the digest of their version.
    pub fn is_versioned(&self) -> bool {
        self.is_versioned
    }

    /// Returns the digest of the schema that arguments are checked against, without its
    /// descriptions. It distinguishes the versions of a tool.
    pub fn schema_digest(&self) -> Digest {
        Digest::of_value(&schema::without_texts(&self.accepts))
    }

    /// Returns the name that the model calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of the tool for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the JSON schema of the arguments, as the model gets it.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// Returns the schema that arguments are checked against: the type's own schema, before it was
    /// made strict for the model.
    pub fn accepts(&self) -> &Value {
        &self.accepts
    }

    /// Returns `true` if the provider's strict mode restricts models to the schema.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns the binding: the place where the body runs.
    #[doc(hidden)]
    pub fn binding(&self) -> &ToolBinding {
        &self.binding
    }

    /// Returns who decides about calls, where that is stricter than the run's gate.
    pub(crate) fn gate_mode(&self) -> Option<GateMode> {
        self.gate_mode
    }

    /// Returns `true` if each output states the part of a whole that it is.
    #[doc(hidden)]
    pub fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Returns the schema that describes the output, if the author has set one.
    #[doc(hidden)]
    pub fn declared_output_schema(&self) -> Option<&crate::wire::Schema> {
        self.output_schema.as_ref()
    }

    /// Returns `true` if a call of the tool may be made twice.
    #[doc(hidden)]
    pub fn is_idempotent(&self) -> bool {
        match &self.binding {
            ToolBinding::Activity { options, .. } => options.idempotent,
            ToolBinding::Mcp(binding) => binding.options().idempotent,
            ToolBinding::Remote(binding) => binding.is_idempotent(),
            // The others either run in this process and are pure, or no session makes their calls.
            ToolBinding::Inline(_)
            | ToolBinding::RemoteActivity(_)
            | ToolBinding::Workflow(_)
            | ToolBinding::ChildWorkflow(_)
            | ToolBinding::Agent(_)
            | ToolBinding::Client
            | ToolBinding::ChildAgent(_) => true,
            #[cfg(feature = "nexus")]
            ToolBinding::Nexus(_) => true,
        }
    }

    /// Returns the states that the body needs.
    #[doc(hidden)]
    pub fn requirements(&self) -> &[StateRequirement] {
        &self.requirements
    }

    /// Returns the keys of the run context that the body needs, where it runs in an activity.
    pub fn context_keys(&self) -> &[String] {
        &self.context_keys
    }

    /// Returns the settings of the body, with references in place of secrets.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// Returns the problems of the definition.
    pub fn issues(&self) -> &[ToolIssue] {
        &self.issues
    }

    /// Returns the type of the activity that runs the tool.
    pub fn activity_type(&self) -> String {
        match &self.binding {
            ToolBinding::Mcp(binding) => binding.activity_type(),
            ToolBinding::Remote(binding) => binding.activity_type(),
            _ => format!("{}.{}", self.activity_prefix, self.own_name.as_deref().unwrap_or(&self.name)),
        }
    }

    /// Returns the kind of its calls, if the tool makes those of one that the provider defines.
    pub(crate) fn native_kind(&self) -> Option<NativeKind> {
        self.native.as_ref().map(NativeTool::kind)
    }

    /// Returns the tool as the model sees it.
    pub fn spec(&self) -> ToolSpec {
        if let Some(native) = &self.native {
            return native.spec();
        }
        ToolSpec::Function {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            strict: self.strict,
        }
    }
}
