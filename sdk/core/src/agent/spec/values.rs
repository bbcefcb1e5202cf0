//! Limits of a spec, and checks of its values.

use super::issue::SpecIssue;
use crate::{
    tool::{name::is_function_name, schema::measure},
    wire::{AgentSpec, ModelSettings},
};

/// Maximum bytes of the JSON of one spec.
pub(crate) const MAX_SPEC_BYTES: usize = 128 * 1024;
/// Maximum bytes of the JSON of all specs of a run: they are a part of the input with which the run
/// continues as new.
pub const MAX_RECORD_BYTES: usize = 512 * 1024;
/// Maximum number of agents of a run.
pub const MAX_AGENTS: usize = 32;
/// Maximum number of elements of each list in a spec.
pub(super) const MAX_ELEMENTS: usize = 128;
/// Maximum bytes of a name: the function of a handoff has 14 more, and at most 64.
const MAX_NAME_BYTES: usize = 50;

/// Adds the problems of values that have the right shape.
pub(super) fn check(spec: &AgentSpec, issues: &mut Vec<SpecIssue>) {
    let AgentSpec {
        version: _,
        name,
        description: _,
        model,
        instructions: _,
        settings,
        tools: _,
        hosted_tools: _,
        handoffs,
        input_guardrails: _,
        output_guardrails: _,
        output,
    } = spec;
    let mut report = |member: &str, reason: String| issues.push(SpecIssue::member(name, member, reason));
    if !is_name(name) {
        let reason = format!(
            "must have 1 to {MAX_NAME_BYTES} bytes: letters, digits, spaces, '_', '-' and '.', the first a letter or \
             a digit"
        );
        report("name", reason);
    }
    if model.as_ref().is_some_and(|model| model.trim().is_empty()) {
        report("model", "must not be empty; leave it out for the model of the workflow".to_owned());
    }
    for (place, handoff) in handoffs.iter().enumerate() {
        if handoff.tool_name.as_ref().is_some_and(|name| !is_function_name(name)) {
            let reason = "must have 1 to 64 letters, digits, '_' and '-'".to_owned();
            report(&format!("handoffs[{place}].tool_name"), reason);
        }
        if handoff.version == Some(0) {
            report(&format!("handoffs[{place}].version"), "must be at least 1".to_owned());
        }
    }
    if let Some(output) = output {
        if !is_function_name(&output.name) {
            report("output.name", "must have 1 to 64 letters, digits, '_' and '-'".to_owned());
        }
        if !output.schema.is_object() {
            report("output.schema", "must be a JSON object".to_owned());
        } else if let Err(large) = measure(&output.schema) {
            report("output.schema", format!("has {} {}, the limit is {}", large.found, large.what, large.most));
        }
    }
    check_settings(settings, &mut report);
}

/// Reports settings that no provider accepts.
fn check_settings(settings: &ModelSettings, report: &mut impl FnMut(&str, String)) {
    let ranges = [
        ("temperature", settings.temperature, 0.0, 2.0),
        ("top_p", settings.top_p, 0.0, 1.0),
        ("frequency_penalty", settings.frequency_penalty, -2.0, 2.0),
        ("presence_penalty", settings.presence_penalty, -2.0, 2.0),
    ];
    for (setting, value, least, most) in ranges {
        if value.is_some_and(|value| !(least..=most).contains(&value)) {
            report(&format!("settings.{setting}"), format!("must be between {least} and {most}"));
        }
    }
    if settings.timeout.is_some_and(|seconds| !seconds.is_finite() || seconds <= 0.0) {
        report("settings.timeout", "must be a number of seconds above 0".to_owned());
    }
    if settings.max_tokens == Some(0) {
        report("settings.max_tokens", "must be at least 1".to_owned());
    }
    if settings.top_logprobs.is_some_and(|alternatives| alternatives > 20) {
        report("settings.top_logprobs", "must be between 0 and 20".to_owned());
    }
}

/// Returns `true` for a name that may be a part of paths and of function names.
fn is_name(name: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.');
    name.len() <= MAX_NAME_BYTES
        && name.chars().next().is_some_and(char::is_alphanumeric)
        && !name.ends_with(' ')
        && name.chars().all(is_inner)
}
