//! The toolsets and devices that were selected for a run: found when it begins, and frozen from
//! then on.
//!
//! # Design
//! **A selected toolset is there, or the run does not begin.** A run that silently has no tools
//! would look like one whose model does not want to call any.
//!
//! **The agents of the run have them, nested runs do not.** An agent used as a tool, a guardrail
//! and a child workflow get only their own tools, so that nobody hands a person's machine to an
//! agent that nobody selected it for.
//!
//! **A run with untrusted content gets no devices.** It is refused when it begins, whatever the
//! gate would say about the calls.

use std::{collections::BTreeSet, rc::Rc};

use super::{
    env::Env,
    host::{Host, SourceEffectError, ToolsetsEffect},
};
use crate::{
    engine::RunError,
    tool::{RemoteToolset, ToolDef},
    wire::{SelectedToolset, ToolsetKind, ToolsetSnapshot},
};

/// Most toolsets that can be selected for a run.
const MOST_TOOLSETS: usize = 16;

/// Most tools of one selected toolset.
const MOST_TOOLS: usize = 128;

/// Finds the toolsets that are selected for the run.
///
/// # Errors
/// [`RunError::User`] if one is not there, cannot be used, or may not be used by this run.
pub(super) async fn find<H: Host>(env: &Env<'_, H>) -> Result<ToolsetSnapshot, RunError> {
    let (config, agent) = (env.config, env.graph.start());
    let mut asked = BTreeSet::new();
    let names: Vec<String> = config.toolsets.iter().filter(|name| asked.insert(*name)).cloned().collect();
    if names.is_empty() {
        return Ok(ToolsetSnapshot::default());
    }
    let refused = |message: String| RunError::User { agent: agent.to_owned(), message, has_run_data: false };
    if names.len() > MOST_TOOLSETS {
        return Err(refused(format!("{} toolsets are selected, the limit is {MOST_TOOLSETS}", names.len())));
    }
    let id = env.effect("toolsets");
    let effect = ToolsetsEffect { id, names: names.clone(), user: config.user.clone(), agent };
    let found = env.host.find_toolsets(effect, &env.scope).await.map_err(|error| match error {
        SourceEffectError::Cancelled => RunError::Cancelled { agent: agent.to_owned(), turn: 0 },
        SourceEffectError::Failed(source) => {
            refused(format!("the toolsets {names:?} could not be looked for: {}", with_causes(&*source)))
        }
    })?;
    let snapshot = ToolsetSnapshot { selected: found, user: config.user.clone(), ..ToolsetSnapshot::default() };
    check(&snapshot, &names, env.is_untrusted()).map_err(refused)?;
    Ok(snapshot)
}

/// Checks that the toolsets are those that were asked for, and may be used.
///
/// # Errors
/// The defect, and the remedy.
fn check(snapshot: &ToolsetSnapshot, names: &[String], is_untrusted: bool) -> Result<(), String> {
    let selected = &snapshot.selected;
    let is_found = |name: &&String| selected.iter().any(|toolset| toolset.name == **name);
    let missing: Vec<&String> = names.iter().filter(|name| !is_found(name)).collect();
    if !missing.is_empty() {
        let whose = snapshot.user.as_ref().map(|user| format!(" for user {user:?}")).unwrap_or_default();
        return Err(format!(
            "selected toolsets are not there{whose}: {missing:?}; each must be registered, or be a device of this \
             user that is connected now"
        ));
    }
    if let Some(surplus) = selected.iter().find(|toolset| !names.contains(&toolset.name)) {
        return Err(format!("toolset {:?} was found, and is not selected", surplus.name));
    }
    let device = selected.iter().find(|toolset| toolset.kind == ToolsetKind::Device);
    if let (true, Some(device)) = (is_untrusted, device) {
        return Err(format!(
            "device {:?} is selected for a run with untrusted content, which gets no devices",
            device.name
        ));
    }
    selected.iter().try_for_each(check_toolset)
}

fn check_toolset(toolset: &SelectedToolset) -> Result<(), String> {
    let (name, tools) = (&toolset.name, toolset.tools.len());
    if tools > MOST_TOOLS {
        return Err(format!("toolset {name:?} has {tools} tools, the limit is {MOST_TOOLS}"));
    }
    let unfit = defined(toolset, None).into_iter().find(|tool| !tool.issues().is_empty());
    match unfit {
        None => Ok(()),
        Some(tool) => {
            let issues: Vec<String> = tool.issues().iter().map(ToString::to_string).collect();
            Err(format!("tool {:?} of toolset {name:?} cannot be used: {}", tool.name(), issues.join("; ")))
        }
    }
}

/// Returns the tools of the toolsets that were found for the run.
pub(super) fn tools_of(snapshot: &ToolsetSnapshot) -> Rc<[ToolDef]> {
    let user = snapshot.user.as_deref();
    snapshot.selected.iter().flat_map(|toolset| defined(toolset, user)).collect()
}

fn defined(toolset: &SelectedToolset, user: Option<&str>) -> Vec<ToolDef> {
    RemoteToolset::of_selected(toolset, user).tools(toolset.tools.iter().cloned())
}

/// Returns the messages of an error and of its causes.
pub(super) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests;
