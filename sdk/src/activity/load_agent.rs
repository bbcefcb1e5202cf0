//! The activity that loads an agent as data, with all that its handoffs reach.
//!
//! It reads the store, and checks what the workflow cannot: the JSON of the specs, and that the
//! worker serves their models. What it finds wrong is in its reply, so that the run can report it
//! together with what the workflow finds.

use std::sync::Arc;

use serde_json::Value;
use temporal_agents_core::{
    agent::SpecIssue,
    wire::{
        WIRE_VERSION, WireDecodeError,
        agent_spec::LoadedSpec,
        decode,
        failure::MALFORMED_REQUEST,
        load_agent::{AGENT_STORE_ERROR, LoadAgentReply, LoadAgentRequest, UNKNOWN_AGENT_SPEC},
    },
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{
    activity::model_failure::version_mismatch,
    provider::providers::Providers,
    store::{AgentStore, LoadError, Loaded, Start, load},
};

/// Maximum number of issues in a reply.
const MAX_ISSUES: usize = 200;

/// Loads a spec. `providers` are those of the worker, if it calls models.
pub(crate) async fn run(
    store: Arc<dyn AgentStore>,
    providers: Option<Providers>,
    ctx: Arc<ActivityContext>,
    request: Value,
) -> Result<LoadAgentReply, ActivityError> {
    let failure = match decode::<LoadAgentRequest>("load agent request", request) {
        Ok(request) => match load(&*store, Start::Stored(&request.spec)).await {
            Ok(loaded) => {
                let providers = providers.filter(|_| !request.models_elsewhere);
                return Ok(reply(loaded, providers).await);
            }
            Err(error) => failure(&ctx, error),
        },
        Err(WireDecodeError::Version(mismatch)) => version_mismatch(ctx.info(), mismatch),
        Err(error) => {
            ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
        }
    };
    Err(ActivityError::Application(Box::new(failure)))
}

fn failure(ctx: &ActivityContext, error: LoadError) -> ApplicationFailure {
    let (type_name, is_permanent) = match error {
        LoadError::TooNew(mismatch) => return version_mismatch(ctx.info(), mismatch),
        LoadError::Unknown(_) => (UNKNOWN_AGENT_SPEC, true),
        LoadError::Store(_) => (AGENT_STORE_ERROR, false),
    };
    ApplicationFailure::builder(error.to_string()).type_name(type_name.to_owned()).non_retryable(is_permanent).build()
}

/// Returns the reply: what was loaded, and what is wrong with it. `providers` are those that the
/// models must have.
pub(crate) async fn reply(loaded: Loaded, providers: Option<Providers>) -> LoadAgentReply {
    let Loaded { specs, mut issues } = loaded;
    if let Some(providers) = providers {
        issues.extend(unserved(&specs, &providers).await);
    }
    let more = issues.len().saturating_sub(MAX_ISSUES);
    let mut issues: Vec<String> = issues.iter().take(MAX_ISSUES).map(ToString::to_string).collect();
    if more > 0 {
        issues.push(format!("and {more} more"));
    }
    LoadAgentReply { version: WIRE_VERSION, specs, issues }
}

/// Returns an issue for each agent whose model none of the providers serves. A provider that fails
/// may serve it.
async fn unserved(specs: &[LoadedSpec], providers: &Providers) -> Vec<SpecIssue> {
    let mut issues = Vec::new();
    for LoadedSpec { version: _, spec } in specs {
        if let Some(model) = &spec.model
            && !providers.may_serve(model).await
        {
            issues.push(SpecIssue::UnknownModel { agent: spec.name.clone(), model: model.clone() });
        }
    }
    issues
}
