//! The settings of a spec: those that the operator must open, and the tool that they request.

use serde_json::Value;

use super::{issue::SpecIssue, names::cut};
use crate::wire::{ModelSettings, ToolChoice, worker_env::referred};

/// Returns the settings that are merged into the provider's request, as far as they are set.
pub(super) fn extra_settings(settings: &ModelSettings) -> impl Iterator<Item = &'static str> {
    let set = [
        ("extra_headers", settings.extra_headers.is_some()),
        ("extra_query", settings.extra_query.is_some()),
        ("extra_body", settings.extra_body.is_some()),
        ("extra_args", settings.extra_args.is_some()),
    ];
    set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name)
}

/// Adds a problem if the settings request a tool that the agent does not have. `offered` are the
/// names of its functions and hosted tools.
pub(super) fn check_tool_choice(
    agent: &str,
    settings: &ModelSettings,
    offered: &[String],
    issues: &mut Vec<SpecIssue>,
) {
    if let Some(ToolChoice::Tool(choice)) = &settings.tool_choice
        && !offered.contains(choice)
    {
        let reason = format!("names {:?}, which is neither a tool nor a handoff of the agent", cut(choice));
        issues.push(SpecIssue::member(agent, "settings.tool_choice", reason));
    }
}

/// Returns the environment variables that a value refers to.
pub(super) fn variables(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| variables(value, found)),
        Value::Object(members) => match referred(members) {
            Some(name) => found.push(name.to_owned()),
            None => members.values().for_each(|value| variables(value, found)),
        },
        _ => {}
    }
}
