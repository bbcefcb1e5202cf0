//! Checks on the requests of callers of a ready-made workflow: a request beyond the limits fails
//! the workflow, and no part of it is silently ignored.
//!
//! The checks apply only to what a caller has written: the input of a continued execution is the
//! workflow's own.

use serde_json::{Map, Value};
use temporal_agents_core::{engine::RunError, wire::Item};

use super::agent_set::AgentSet;
use crate::workflow::continuing::refused;

/// Roles of the messages that a caller may send.
const OPEN_ROLES: [&str; 2] = ["user", "assistant"];

/// The request of a caller.
pub(crate) struct Asked<'a> {
    /// Items of the input, if it is not a string.
    pub(crate) input: &'a [Item],
    pub(crate) context: &'a Map<String, Value>,
    pub(crate) max_turns: Option<u32>,
    /// Requested version of the agents.
    pub(crate) version: Option<&'a str>,
    /// `true` if the server names a parent of the workflow.
    pub(crate) is_child: bool,
}

impl AgentSet {
    /// Checks the request of a caller.
    ///
    /// # Errors
    /// [`RunError::Refused`] with the first part of the request that is not permitted.
    pub(crate) fn admit(&self, agent: &str, asked: &Asked<'_>) -> Result<(), RunError> {
        if let Some(version) = asked.version {
            let what = format!("version {version:?} of the agents");
            return Err(refused(
                agent,
                &what,
                "the workflow chooses the version, and carries it to its next execution",
            ));
        }
        // For a child workflow, its parent's tool sets the keys and the limit.
        if !asked.is_child {
            self.admit_context(agent, asked.context)?;
            self.admit_max_turns(agent, asked.max_turns)?;
        }
        self.admit_items(agent, "input", asked.input)
    }

    /// Returns `true` if messages begin with the agent that answered last, as the caller requests
    /// or the set says.
    ///
    /// # Errors
    /// [`RunError::Refused`] if a caller may not choose it.
    pub(crate) fn admit_last_agent(&self, agent: &str, asked: Option<bool>) -> Result<bool, RunError> {
        match asked {
            Some(true) if !self.last_agent_continues && !self.opens_last_agent => {
                let what = "that messages begin with the agent that answered last";
                Err(refused(
                    agent,
                    what,
                    "the workflow's author decides that; AgentSet::open_last_agent permits callers to choose it",
                ))
            }
            asked => Ok(asked.unwrap_or(self.last_agent_continues)),
        }
    }

    fn admit_context(&self, agent: &str, context: &Map<String, Value>) -> Result<(), RunError> {
        if self.config.context.is_empty() {
            return Ok(());
        }
        match context.keys().find(|key| !self.allow_context.contains(*key)) {
            None => Ok(()),
            Some(key) => {
                let what = format!("context key {key:?}");
                let reason = "the workflow sets run context itself; callers may set only the keys in \
                              AgentSet::allow_context";
                Err(refused(agent, &what, reason))
            }
        }
    }

    fn admit_max_turns(&self, agent: &str, asked: Option<u32>) -> Result<(), RunError> {
        match (asked, self.config.max_turns) {
            (Some(asked), Some(limit)) if asked > limit => {
                let what = format!("a limit of {asked} turns");
                let reason = format!(
                    "the workflow's limit is {limit}, which callers may lower but not raise; RunConfig::max_turns in \
                     AgentSet::config raises it"
                );
                Err(refused(agent, &what, reason))
            }
            _ => Ok(()),
        }
    }

    /// Checks the items that a caller has sent as this member of the input.
    ///
    /// # Errors
    /// [`RunError::Refused`] with the first item that a caller may not send.
    pub(crate) fn admit_items(&self, agent: &str, member: &str, items: &[Item]) -> Result<(), RunError> {
        if self.opens_privileged_items {
            return Ok(());
        }
        let found = items.iter().enumerate().find_map(|(place, item)| Some((place, privileged(item)?)));
        match found {
            None => Ok(()),
            Some((place, privilege)) => {
                let what = format!("item {place} of {member:?}, {privilege},");
                let reason =
                    "it is reserved for the operator; AgentSet::allow_privileged_items permits callers to send it";
                Err(refused(agent, &what, reason))
            }
        }
    }
}

/// Describes an item that only the operator may send; returns `None` for any other item.
fn privileged(item: &Item) -> Option<String> {
    let named = |member| item.get(member).filter(|value| !value.is_null());
    match (named("type").map(|kind| kind.as_str().unwrap_or_default()), named("role")) {
        // Without a type and a role, the provider treats the item as a reference.
        (Some("item_reference"), _) | (None, None) => Some("an item reference".to_owned()),
        (Some("mcp_approval_response"), _) => Some("an answer to an approval request".to_owned()),
        (_, Some(role)) if role.as_str().is_none_or(|role| !OPEN_ROLES.contains(&role)) => {
            Some(format!("a message of the role {role}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
