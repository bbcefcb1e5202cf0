//! The tools and guardrails of a spec: the parts, with the approvals and checks that it adds.

use std::collections::BTreeSet;

use super::{
    issue::SpecIssue,
    names::{cut, listed, suggestion},
    parts::SpecParts,
};
use crate::{
    agent::{InputGuardrail, OutputGuardrail},
    tool::{NeedsApproval, ToolDef, ToolInputGuardrail, ToolOutputGuardrail},
    wire::{AgentSpec, ToolSpec, agent_spec::SpecTool},
};

/// Maximum number of unknown names in one list for which a similar one is searched.
const MAX_SUGGESTIONS: usize = 10;

impl SpecParts {
    /// Returns the tools that a spec names and the parts have.
    pub(super) fn tools_of(&self, spec: &AgentSpec, issues: &mut Vec<SpecIssue>) -> Vec<ToolDef> {
        let names = || self.tools.iter().map(ToolDef::name);
        let mut tools = Vec::with_capacity(spec.tools.len());
        let mut unknown = 0;
        for tool in &spec.tools {
            let found = self.tools.iter().find(|part| part.name() == tool.name);
            if let Some(part) = found {
                tools.push(self.stricter(spec, part.clone(), tool, issues));
                continue;
            }
            unknown += 1;
            issues.push(SpecIssue::UnknownTool {
                agent: spec.name.clone(),
                tool: cut(&tool.name),
                suggestion: (unknown <= MAX_SUGGESTIONS).then(|| suggestion(&tool.name, names())).flatten(),
                known: listed(names()),
            });
        }
        tools
    }

    /// Returns a tool with the approvals and guardrails that a spec adds to it.
    fn stricter(&self, spec: &AgentSpec, part: ToolDef, wish: &SpecTool, issues: &mut Vec<SpecIssue>) -> ToolDef {
        let SpecTool { name, needs_approval, input_guardrails, output_guardrails } = wish;
        let mut tool = part;
        match needs_approval {
            Some(true) => tool = tool.approval(NeedsApproval::Always),
            Some(false) if !matches!(tool.approval_rule(), NeedsApproval::Never) => {
                issues.push(SpecIssue::RemovesApproval { agent: spec.name.clone(), tool: name.clone() });
            }
            _ => {}
        }
        // A check of the tool's own with the same name stays as it is.
        let of = |kind: &str| format!("{kind} guardrail of tool {name:?}");
        let wanted = Wanted { agent: &spec.name, kind: of("input"), names: input_guardrails };
        for guardrail in wanted.among(&self.tool_input_guardrails, ToolInputGuardrail::name, issues) {
            if !tool.input_guardrails().iter().any(|own| own.name() == guardrail.name()) {
                tool = tool.with_input_guardrail(guardrail);
            }
        }
        let wanted = Wanted { agent: &spec.name, kind: of("output"), names: output_guardrails };
        for guardrail in wanted.among(&self.tool_output_guardrails, ToolOutputGuardrail::name, issues) {
            if !tool.output_guardrails().iter().any(|own| own.name() == guardrail.name()) {
                tool = tool.with_output_guardrail(guardrail);
            }
        }
        tool
    }

    /// Returns the hosted tools that a spec names and the operator has opened.
    pub(super) fn hosted_tools_of(&self, spec: &AgentSpec, issues: &mut Vec<SpecIssue>) -> Vec<ToolSpec> {
        let mut seen = BTreeSet::new();
        let mut tools = Vec::new();
        for name in &spec.hosted_tools {
            let agent = spec.name.clone();
            if !seen.insert(name) {
                issues.push(SpecIssue::DuplicateName { agent, kind: "hosted tools".to_owned(), name: cut(name) });
            } else if let Some(tool) = self.hosted_tools.iter().find(|tool| tool.name() == name) {
                tools.push(tool.clone());
            } else {
                let opened = listed(self.hosted_tools.iter().map(ToolSpec::name));
                issues.push(SpecIssue::HostedToolNotOpened { agent, tool: cut(name), opened });
            }
        }
        tools
    }

    /// Returns the guardrails of an agent that a spec names and the parts have.
    pub(super) fn guardrails_of(
        &self,
        spec: &AgentSpec,
        issues: &mut Vec<SpecIssue>,
    ) -> (Vec<InputGuardrail>, Vec<OutputGuardrail>) {
        let kind = "input guardrail".to_owned();
        let wanted = Wanted { agent: &spec.name, kind, names: &spec.input_guardrails };
        let input = wanted.among(&self.input_guardrails, InputGuardrail::name, issues);
        let kind = "output guardrail".to_owned();
        let wanted = Wanted { agent: &spec.name, kind, names: &spec.output_guardrails };
        (input, wanted.among(&self.output_guardrails, OutputGuardrail::name, issues))
    }
}

/// The guardrails that one list of a spec names.
struct Wanted<'w> {
    agent: &'w str,
    kind: String,
    names: &'w [String],
}

impl Wanted<'_> {
    /// Returns the guardrails among the parts, and reports the other names.
    fn among<G: Clone>(&self, parts: &[G], name_of: impl Fn(&G) -> &str, issues: &mut Vec<SpecIssue>) -> Vec<G> {
        let Self { agent, kind, names } = self;
        let mut seen = BTreeSet::new();
        let mut found = Vec::with_capacity(names.len());
        let mut unknown = 0;
        for name in *names {
            let agent = (*agent).to_owned();
            if !seen.insert(name) {
                issues.push(SpecIssue::DuplicateName { agent, kind: format!("entries as {kind}"), name: cut(name) });
                continue;
            }
            if let Some(part) = parts.iter().find(|part| name_of(part) == name) {
                found.push(part.clone());
                continue;
            }
            unknown += 1;
            let similar = || suggestion(name, parts.iter().map(&name_of));
            let suggestion = (unknown <= MAX_SUGGESTIONS).then(similar).flatten();
            let known = listed(parts.iter().map(&name_of));
            issues.push(SpecIssue::UnknownGuardrail {
                agent,
                kind: kind.clone(),
                guardrail: cut(name),
                suggestion,
                known,
            });
        }
        found
    }
}
