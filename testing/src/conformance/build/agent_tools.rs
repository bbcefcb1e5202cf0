//! Agents as tools of other agents.

use temporal_agents::{Tool, ToolDef};

use super::{
    BuildError, Cast,
    agents::Walk,
    text::{filled, text_of},
    tools::with_rules,
};
use crate::conformance::format::{AgentTool, NeedsApproval};

/// Builds the tool, whose agent begins a separate graph.
pub(super) fn agent_tool<'s>(cast: &Cast<'s>, spec: &'s AgentTool, walk: &Walk<'s>) -> Result<ToolDef, BuildError> {
    let mut tool = cast.graph(&spec.agent, walk.inside())?.as_tool();
    if let Some(name) = &spec.tool_name {
        tool = tool.name(name);
    }
    if let Some(description) = &spec.tool_description {
        tool = tool.description(description);
    }
    if let Some(max_turns) = spec.max_turns {
        tool = tool.max_turns(max_turns);
    }
    if let Some(extractor) = &spec.output_extractor {
        let template = extractor.template.clone();
        tool = tool.extract_output(move |result| {
            let (output, count) = (text_of(result.final_output), result.new_items.len().to_string());
            filled(&template, &[("final_output", &output), ("item_count", &count)])
        });
    }
    let approval = spec.needs_approval.map(NeedsApproval::Always);
    Ok(with_rules(tool.definition(), spec.is_enabled.as_ref(), approval.as_ref(), spec.failure_error_function.as_ref()))
}
