//! What a definition holds, for those who offer the tool, call it and check it.

use serde_json::{Map, Value};

use super::{LOCAL_BYTES, ToolDef, ToolIssue};
use crate::{
    tool::{
        approval::NeedsApproval,
        binding::ToolBinding,
        enabled::Enabled,
        guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
        on_error::OnToolError,
        oversized::OutputLimit,
        redaction::Redaction,
        schema,
        side_by_side::SideBySide,
        state::StateRequirement,
    },
    wire::{Digest, ToolSpec},
};

impl ToolDef {
    /// Returns the rule that decides which calls wait for a decision.
    pub fn approval_rule(&self) -> &NeedsApproval {
        &self.approval
    }

    /// When the tool is offered.
    pub fn enabled_rule(&self) -> &Enabled {
        &self.enabled
    }

    /// The checks before the body runs.
    pub fn input_guardrails(&self) -> &[ToolInputGuardrail] {
        &self.input_guardrails
    }

    /// The checks of what the body returns.
    pub fn output_guardrails(&self) -> &[ToolOutputGuardrail] {
        &self.output_guardrails
    }

    /// What a failed call comes to.
    pub fn on_error_rule(&self) -> &OnToolError {
        &self.on_error
    }

    /// The limit of its outputs.
    pub(crate) fn output_limit(&self) -> OutputLimit {
        match &self.binding {
            ToolBinding::Activity { options, .. } if options.local && !self.has_own_limit => {
                OutputLimit { bytes: LOCAL_BYTES, ..self.output_limit }
            }
            _ => self.output_limit,
        }
    }

    /// What is taken out of everything it returns.
    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// Which calls run at the same time.
    pub(crate) fn side_by_side(&self) -> &SideBySide {
        &self.side_by_side
    }

    /// Whether calls of it say which version of the tool they are for.
    pub fn is_versioned(&self) -> bool {
        self.is_versioned
    }

    /// The digest of the schema that arguments are checked against, without its descriptions: what tells the versions of a tool apart.
    pub fn schema_digest(&self) -> Digest {
        Digest::of_value(&schema::without_texts(&self.accepts))
    }

    /// The name the model calls.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the tool does, for the model.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The JSON schema of the arguments.
    pub fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The schema that arguments are checked against: the type's own, before it was made strict for the model.
    pub fn accepts(&self) -> &Value {
        &self.accepts
    }

    /// Whether models are held to the schema by the provider's strict mode.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Where the body runs.
    pub fn binding(&self) -> &ToolBinding {
        &self.binding
    }

    /// The states the body needs.
    pub fn requirements(&self) -> &[StateRequirement] {
        &self.requirements
    }

    /// The keys of the run context that the body needs, where it runs in an activity.
    pub fn context_keys(&self) -> &[String] {
        &self.context_keys
    }

    /// What was set for the body, with references in place of secrets.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    /// What is wrong with the definition.
    pub fn issues(&self) -> &[ToolIssue] {
        &self.issues
    }

    /// The type of the activity that runs the tool.
    pub fn activity_type(&self) -> String {
        match &self.binding {
            ToolBinding::Mcp(binding) => binding.activity_type(),
            _ => format!("{}.{}", self.activity_prefix, self.name),
        }
    }

    /// The tool as the model sees it.
    pub fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            strict: self.strict,
        }
    }
}
