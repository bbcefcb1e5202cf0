//! Requests to a server: connections from another process, and the activities that have not ended.

use anyhow::Context;
use temporal_agents_testing::{DevServer, ServerAddress};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient, grpc::WorkflowService,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflow::v1::PendingActivityInfo,
    workflowservice::v1::DescribeWorkflowExecutionRequest,
};

/// Connects a client to the server at this address. `identity` names the program in the server's
/// records.
///
/// # Errors
/// The server cannot be reached.
pub async fn connect(address: &ServerAddress, namespace: &str, identity: &str) -> anyhow::Result<Client> {
    let connection = Connection::connect(ConnectionOptions::new(address.url()).identity(identity).build()).await;
    let connection = connection.with_context(|| format!("no Temporal server at {address}"))?;
    Ok(Client::new(connection, ClientOptions::new(namespace).build())?)
}

/// Waits for Ctrl-C if the server is to be kept and has a web UI.
///
/// # Errors
/// Ctrl-C cannot be awaited.
pub async fn keep_up(server: &DevServer, keep: bool) -> std::io::Result<()> {
    if let Some(ui) = server.ui_url().filter(|_| keep) {
        println!("The server stays up until Ctrl-C: {ui}/namespaces/{}/workflows", server.namespace());
        tokio::signal::ctrl_c().await?;
    }
    Ok(())
}

/// Returns the activities of a workflow that have not ended.
///
/// # Errors
/// The server does not answer.
pub async fn pending(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<PendingActivityInfo>> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace(),
        execution: Some(WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() }),
    };
    let mut client = client.clone();
    let described = WorkflowService::describe_workflow_execution(&mut client, tonic::Request::new(request)).await?;
    Ok(described.into_inner().pending_activities)
}
