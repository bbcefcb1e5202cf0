//! The versions of one tool that a worker runs: one activity under the tool's name, which selects
//! for each call the body against whose schema it was checked.
//!
//! A call for one of several versions contains the digest of its schema. A call without a digest is
//! for the only version, or was made by a release before there were several: then its arguments
//! determine the version. A call for a version that this worker does not have is refused, and
//! retried for a limited time, so that a worker that has the version can run it.
//!
//! # Design
//! **A call names its version of a tool only if the definitions mark that there are several.** The
//! workflow sees one agent, not the tools of the worker, and must decide in the same way on replay.
//! So the author marks a version (`versioned()`), or the `AgentSet` has both versions and compares
//! their schemas. The digest is that of the schema against which arguments are checked. A call
//! without a digest (of the only version, or of a build before there were two) runs the unmarked
//! version whose schema its arguments fit; the worker refuses to start with two unmarked versions
//! that some arguments may both fit. A call for a version that the worker does not have fails as a
//! `WireVersionMismatch` does: retryable after 5 s, until 10 minutes after it was first scheduled.

use std::sync::Arc;

use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ToolDef, schema},
    wire::{ToolReply, ToolRequest, digest::Digest},
};
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    failed_attempt::ToolAttempt,
    message::Request,
    tool::{ToolActivity, read},
};
use crate::activity::model_failure::for_another_worker;

/// The versions of one tool, in the order in which they were registered.
pub(crate) struct ToolVersions(Vec<(Digest, ToolActivity)>);

/// A call for a version of a tool that this worker does not have.
///
/// # Retries
/// Every 5 s, until 10 minutes after the call was first scheduled.
#[derive(Debug, thiserror::Error)]
#[error(
    "the call is for a version of tool {tool:?} that this worker does not have{}; register that version as well, with \
     AgentsPlugin::agents, until the runs that call it have ended",
    .schema.as_ref().map(|schema| format!(" (its schema has the digest {schema})")).unwrap_or_default()
)]
struct VersionNotRegistered {
    tool: String,
    schema: Option<Digest>,
}

impl ToolVersions {
    pub(crate) fn new(versions: impl IntoIterator<Item = ToolActivity>) -> Self {
        Self(versions.into_iter().map(|activity| (activity.tool.schema_digest(), activity)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs the version of the tool that the call is for.
    pub(crate) async fn run(&self, ctx: &Arc<ActivityContext>, request: &Request) -> Result<ToolReply, ActivityError> {
        let request: ToolRequest = read("tool request", ctx, request)?;
        if let Some(version) = self.version_of(&request) {
            return version.perform(ctx, request).await;
        }
        let attempt = ToolAttempt::new(ctx.info(), &request);
        let refused = VersionNotRegistered { tool: request.tool, schema: request.schema };
        attempt.warn_of(&refused.to_string());
        Err(ActivityError::Application(Box::new(for_another_worker(ctx.info(), refused, true))))
    }

    /// Returns the version of the tool that a call is for, if this worker has it.
    pub(super) fn version_of(&self, request: &ToolRequest) -> Option<&ToolActivity> {
        self.version_for(request.schema.as_ref(), &request.arguments)
    }

    fn version_for(&self, schema: Option<&Digest>, arguments: &Map<String, Value>) -> Option<&ToolActivity> {
        let place = if let Some(schema) = schema {
            self.0.iter().position(|(digest, _)| digest == schema)
        } else {
            let tools: Vec<&ToolDef> = self.0.iter().map(|(_, version)| &version.tool).collect();
            place_that_fits(&tools, arguments)
        };
        place.map(|place| &self.0[place].1)
    }
}

/// Returns the index of the version that a call without a digest is for. Marked versions are tried
/// last, since calls for them usually have a digest. A single unmarked version accepts all
/// arguments, because its body reports what does not fit.
fn place_that_fits(tools: &[&ToolDef], arguments: &Map<String, Value>) -> Option<usize> {
    if let [only] = tools
        && !only.is_versioned()
    {
        return Some(0);
    }
    let mut places: Vec<usize> = (0..tools.len()).collect();
    places.sort_by_key(|place| tools[*place].is_versioned());
    let instance = Value::Object(arguments.clone());
    // A run that was started before all keywords were checked may send arguments that only the
    // earlier checks accept.
    let fitting = |validate: schema::Validate| {
        let fits = |place: &usize| validate(tools[*place].accepts(), &instance).is_ok();
        places.iter().copied().filter(fits).collect::<Vec<_>>()
    };
    let by_all = fitting(schema::validate);
    let places = if by_all.is_empty() { fitting(schema::validate_earlier_keywords) } else { by_all };
    // Prefers the first version whose schema names all members of the arguments.
    let declares_all = |place: &&usize| schema::declares_all(tools[**place].accepts(), arguments);
    places.iter().find(declares_all).or_else(|| places.first()).copied()
}

#[cfg(test)]
mod tests;
