//! The problems of specs, each with its remedy.

use crate::{
    agent::GraphIssue,
    wire::{WireVersion, error_debug},
};

/// Maximum number of issues in a message; the rest is counted.
const MAX_LISTED: usize = 50;

/// All problems of a spec, and of the specs that its handoffs reach.
///
/// # Retries
/// Never retried: the run fails before any model call. A new run of another version of the spec,
/// or after a deploy of the missing parts, can succeed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} wrong with the spec:\n{}", count(.issues.len()), list(.issues))]
#[non_exhaustive]
pub struct SpecError {
    /// The problems: first those that the worker found when it loaded the specs, then those of
    /// each agent, in the order in which handoffs reach them; never empty.
    pub issues: Vec<SpecIssue>,
}

error_debug!(struct SpecError { issues });

/// One problem of a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecIssue {
    /// The spec has a version that this build does not read.
    #[error(
        "spec {agent:?} has the wire version {found}, this build reads {reads}; write the spec for that version, or \
         deploy a newer worker"
    )]
    Version {
        /// Name of the agent.
        agent: String,
        /// The version of the spec.
        found: WireVersion,
        /// The newest version that this build reads.
        reads: WireVersion,
    },
    /// A member has a wrong shape, is unknown, or is over a limit.
    #[error("spec {agent:?}: {member} {reason}")]
    Member {
        /// Name of the agent.
        agent: String,
        /// The member: `tools[3]`, `settings.temperature`.
        member: String,
        /// The problem and its remedy, as a sentence fragment.
        reason: String,
    },
    /// The spec names a tool that is not among the parts.
    #[error(
        "agent {agent:?} has the unknown tool {tool:?}{}; SpecParts::tool adds one",
        hint(.suggestion.as_deref(), .known)
    )]
    UnknownTool {
        /// Name of the agent.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// A known name that is similar.
        suggestion: Option<String>,
        /// Known names.
        known: Vec<String>,
    },
    /// The spec names a guardrail that is not among the parts.
    #[error("agent {agent:?} has the unknown {kind} {guardrail:?}{}; SpecParts has a method to add one",
        hint(.suggestion.as_deref(), .known))]
    UnknownGuardrail {
        /// Name of the agent.
        agent: String,
        /// Kind of the guardrail: `input guardrail`, `output guardrail of tool "refund"`.
        kind: String,
        /// Name of the guardrail.
        guardrail: String,
        /// A known name that is similar.
        suggestion: Option<String>,
        /// Known names.
        known: Vec<String>,
    },
    /// A handoff names a spec that does not exist.
    #[error("agent {agent:?} hands off to {target:?}, of which there is no spec{}; store it first",
        hint(.suggestion.as_deref(), .known))]
    UnknownTarget {
        /// Name of the agent.
        agent: String,
        /// Name of the other agent, with the version if the handoff names one.
        target: String,
        /// A known name that is similar.
        suggestion: Option<String>,
        /// Known names.
        known: Vec<String>,
    },
    /// Two handoffs lead to different versions of one spec.
    #[error(
        "agent {agent:?} hands off to version {found} of {target:?}, but the run has version {loaded}; name one \
         version in all handoffs to it, or none"
    )]
    TwoVersions {
        /// Name of the agent.
        agent: String,
        /// Name of the other agent.
        target: String,
        /// Version that the handoff names.
        found: u32,
        /// Version that was found first.
        loaded: u32,
    },
    /// The provider's tool was not opened by the operator.
    #[error(
        "agent {agent:?} has the hosted tool {tool:?}, which the operator has not opened; SpecParts::hosted_tool opens \
         one (open: {})", none_or(.opened)
    )]
    HostedToolNotOpened {
        /// Name of the agent.
        agent: String,
        /// Name of the hosted tool.
        tool: String,
        /// Names of the hosted tools that are open.
        opened: Vec<String>,
    },
    /// The spec would remove the approval that a tool requires.
    #[error(
        "agent {agent:?} sets needs_approval to false for tool {tool:?}, whose own rule asks for approvals; remove the \
         member: a spec can only add approvals, and AgentSet::specs decides what a tool asks for"
    )]
    RemovesApproval {
        /// Name of the agent.
        agent: String,
        /// Name of the tool.
        tool: String,
    },
    /// A setting is merged into the provider's request, and was not opened by the operator.
    #[error(
        "agent {agent:?} has the setting {setting:?}, which is merged into the provider's request and was not opened; \
         remove it, or open such settings with SpecParts::open_extra_settings"
    )]
    SettingNotOpened {
        /// Name of the agent.
        agent: String,
        /// Name of the setting.
        setting: String,
    },
    /// The spec refers to an environment variable that was not opened by the operator.
    #[error(
        "agent {agent:?} refers to the environment variable {variable:?} in its settings, which was not opened; \
         SpecParts::open_env opens one"
    )]
    EnvNotOpened {
        /// Name of the agent.
        agent: String,
        /// Name of the variable.
        variable: String,
    },
    /// Two members of one kind have the same name.
    #[error("agent {agent:?} has two {kind} named {name:?}; remove one, or give a handoff a tool_name")]
    DuplicateName {
        /// Name of the agent.
        agent: String,
        /// Kind of the members: `tools`, `input guardrails`.
        kind: String,
        /// The name.
        name: String,
    },
    /// The workflow has an agent of the same name in its code.
    #[error("the workflow has an agent named {agent:?} in its code; choose another name for the spec")]
    NameTaken {
        /// Name of the agent.
        agent: String,
    },
    /// Neither the spec nor the workflow has a model.
    #[error("agent {agent:?} has no model; set \"model\" in the spec, or RunConfig::model in AgentSet::config")]
    NoModel {
        /// Name of the agent.
        agent: String,
    },
    /// No model provider of the worker serves the model.
    #[error("agent {agent:?} has the model {model:?}, which no model provider of the worker serves; correct its name")]
    UnknownModel {
        /// Name of the agent.
        agent: String,
        /// Name of the model.
        model: String,
    },
    /// The resolved agents have a problem.
    #[error(transparent)]
    Graph(#[from] GraphIssue),
    /// A problem that the worker has found when it loaded the specs, in its words.
    #[error("{message}")]
    Loading {
        /// The message.
        message: String,
    },
}

impl SpecIssue {
    pub(super) fn member(agent: &str, member: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Member { agent: agent.to_owned(), member: member.into(), reason: reason.into() }
    }
}

fn count(issues: usize) -> String {
    if issues == 1 { "one thing is".to_owned() } else { format!("{issues} things are") }
}

fn list(issues: &[SpecIssue]) -> String {
    let mut lines: Vec<String> = issues.iter().take(MAX_LISTED).map(|issue| format!("- {issue}")).collect();
    if issues.len() > MAX_LISTED {
        lines.push(format!("- and {} more", issues.len() - MAX_LISTED));
    }
    lines.join("\n")
}

fn hint(suggestion: Option<&str>, known: &[String]) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name:?}?"),
        None => format!(" (there are: {})", none_or(known)),
    }
}

fn none_or(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
