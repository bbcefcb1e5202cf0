//! The activity that looks up a Nexus endpoint in the server's registry.

use std::time::Duration;

use serde_json::Value;
use temporal_agents_core::wire::{
    WIRE_VERSION, WireDecodeError, decode,
    failure::MALFORMED_REQUEST,
    nexus_endpoint::{NexusEndpointReply, NexusEndpointRequest},
};
use temporalio_client::grpc::OperatorService;
use temporalio_common::{
    error::ApplicationFailure, protos::temporal::api::operatorservice::v1::ListNexusEndpointsRequest,
};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::timeout;

use crate::activity::model_failure::version_mismatch;

/// The timeout of the request to the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks up the endpoint. If the server does not report it, because the worker has no permission or
/// the server does not know the request, the endpoint counts as callable, and the Nexus call itself
/// fails if it is not.
pub(crate) async fn run(ctx: &ActivityContext, request: Value) -> Result<NexusEndpointReply, ActivityError> {
    let NexusEndpointRequest { version: _, endpoint } = read(ctx, request)?;
    let asked = ListNexusEndpointsRequest { name: endpoint, ..ListNexusEndpointsRequest::default() };
    let mut client = ctx.client();
    let answer =
        timeout(PATIENCE, OperatorService::list_nexus_endpoints(&mut client, tonic::Request::new(asked))).await;
    let callable = match answer {
        Ok(Ok(answer)) => !answer.into_inner().endpoints.is_empty(),
        Ok(Err(status)) if may_pass(&status) => return Err(again(status.to_string())),
        Err(elapsed) => return Err(again(elapsed.to_string())),
        Ok(Err(_)) => true,
    };
    Ok(NexusEndpointReply { version: WIRE_VERSION, callable })
}

/// Returns `true` if a later attempt may succeed.
fn may_pass(status: &tonic::Status) -> bool {
    use tonic::Code::{Aborted, Cancelled, DeadlineExceeded, Internal, ResourceExhausted, Unavailable, Unknown};
    matches!(
        status.code(),
        Aborted | Cancelled | DeadlineExceeded | Internal | ResourceExhausted | Unavailable | Unknown
    )
}

/// Returns a retryable failure.
fn again(reason: String) -> ActivityError {
    let message = format!("the server did not report whether the Nexus endpoint exists: {reason}");
    ActivityError::Application(Box::new(ApplicationFailure::builder(message).build()))
}

fn read(ctx: &ActivityContext, request: Value) -> Result<NexusEndpointRequest, ActivityError> {
    let failure = match decode("Nexus endpoint request", request) {
        Ok(request) => return Ok(request),
        Err(WireDecodeError::Version(mismatch)) => version_mismatch(ctx.info(), mismatch),
        Err(error) => {
            ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
        }
    };
    Err(ActivityError::Application(Box::new(failure)))
}
