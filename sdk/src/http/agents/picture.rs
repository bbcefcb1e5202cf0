//! `GET /agents/{name}/picture.svg`.

use axum::{
    Extension,
    extract::{Path, Query, State},
    http::StatusCode,
};
use temporal_agents_core::{
    agent::{AgentDef, Graph, spec::Surroundings},
    wire::SpecRef,
};

use super::{read::ReadQuery, store, unavailable};
use crate::{
    http::{
        access::Caller,
        error::ApiError,
        service::{Service, Shared},
        svg::Svg,
    },
    store::{LoadError, Loaded, Start, load},
};

/// `GET /agents/{name}/picture.svg`: the agent with all agents that it reaches. An agent in the
/// code is drawn for callers who may start it, one that is data for those who may read its specs.
pub(in crate::http) async fn picture(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(ReadQuery { version }): Query<ReadQuery>,
) -> Result<Svg, ApiError> {
    if version.is_none() && (shared.agents.contains_key(&name) || shared.store.0.is_none()) {
        let agent = shared.startable(&caller, &name)?;
        return Ok(Svg(Graph::new(agent).to_svg()));
    }
    if !shared.access.may_read_spec(&caller, &name) {
        return Err(ApiError::forbidden("read specs of this agent"));
    }
    let mut spec = SpecRef::newest(name);
    spec.version = version;
    Ok(Svg(Graph::new(&resolved(&shared, &spec).await?).to_svg()))
}

/// Returns the agent of a stored spec.
///
/// # Errors
/// 404 for an unknown agent, and for one that the service cannot resolve.
async fn resolved(shared: &Shared, spec: &SpecRef) -> Result<AgentDef, ApiError> {
    let not_found = |code, message| ApiError::new(StatusCode::NOT_FOUND, code, message);
    let Loaded { specs, issues } = match load(&**store(shared)?, Start::Stored(spec)).await {
        Ok(loaded) => loaded,
        Err(error @ LoadError::Store(_)) => return Err(unavailable(error)),
        Err(LoadError::Unknown(message)) => return Err(not_found("unknown_agent", message)),
        Err(error @ LoadError::TooNew(_)) => return Err(not_found("no_picture", error.to_string())),
    };
    let parts = shared.parts.as_ref().ok_or_else(|| {
        let message = "this service does not know the parts of agents as data; AgentsService::agents takes them from \
                       an AgentSet";
        not_found("no_picture", message.to_owned())
    })?;
    let taken = shared.agents.keys().cloned().collect();
    let found = issues.iter().map(ToString::to_string).collect();
    let resolved = parts.resolve(&specs, &Surroundings { taken, has_model: true, found });
    resolved.map_err(|error| not_found("no_picture", error.to_string()))
}
