//! The versions of one tool that a worker runs: one activity by the tool's name, and for each call the body whose schema it was checked
//! against.
//!
//! A call for one of several versions names the digest of its schema. One that names none is for the only version, or comes from
//! a release before there were several: then its arguments say for which. What is for none of the versions here is
//! refused, and attempted again for a while, so that a worker that has the version takes it.
//!
//! # Design
//! **A call names its version of a tool only where the definitions say that there are several.**
//! The workflow sees one agent, not what the worker has, and must decide alike on replay: so the
//! author marks a version (`versioned()`), or the `AgentSet` has both versions and compares their
//! schemas. The digest is that of the schema that arguments are checked against. A call without one
//! (of the only version, or of a build before there were two) runs the unmarked version whose
//! schema its arguments fit; the worker refuses two unmarked versions that some arguments may both
//! fit. A call for a version that the worker does not have fails as `WireVersionMismatch` does:
//! retryable after 5 s, until 10 minutes after it was first scheduled.

use std::sync::Arc;

use serde_json::{Map, Value};
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    message::Request,
    tool::{ToolActivity, read},
};
use crate::activity::model_failure::for_another_worker;
use crate::{
    tool::{ToolDef, schema},
    wire::{Digest, ToolReply, ToolRequest},
};

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
struct OtherVersion {
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

    /// Runs the version that the call is for.
    pub(crate) async fn run(&self, ctx: &Arc<ActivityContext>, request: &Request) -> Result<ToolReply, ActivityError> {
        let request: ToolRequest = read("tool request", ctx, request)?;
        if let Some(version) = self.version_for(request.schema.as_ref(), &request.arguments) {
            return version.perform(ctx, request).await;
        }
        let refused = OtherVersion { tool: request.tool, schema: request.schema };
        Err(ActivityError::Application(Box::new(for_another_worker(ctx.info(), refused, true))))
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

/// The place of the version that a call without a digest is for. Calls for a version that is marked have one, so that it comes last. The only
/// version takes whatever comes, since its body says what does not fit; not where it is marked.
fn place_that_fits(tools: &[&ToolDef], arguments: &Map<String, Value>) -> Option<usize> {
    if let [only] = tools
        && !only.is_versioned()
    {
        return Some(0);
    }
    let mut places: Vec<usize> = (0..tools.len()).collect();
    places.sort_by_key(|place| tools[*place].is_versioned());
    let instance = Value::Object(arguments.clone());
    // A run from before all keywords were checked may send what only the earlier ones take.
    let fitting = |validate: schema::Validate| {
        let fits = |place: &usize| validate(tools[*place].accepts(), &instance).is_ok();
        places.iter().copied().filter(fits).collect::<Vec<_>>()
    };
    let by_all = fitting(schema::validate);
    let places = if by_all.is_empty() { fitting(schema::validate_earlier_keywords) } else { by_all };
    let names_all = |place: &&usize| schema::names_all(tools[**place].accepts(), arguments);
    places.iter().find(names_all).or_else(|| places.first()).copied()
}

#[cfg(test)]
mod tests;
