//! Waits until a started server serves its namespaces.

use std::time::Duration;

use temporalio_client::{
    Connection, ConnectionOptions, RetryOptions, Url, connection_options_builder, grpc::WorkflowService,
};
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest;
use tokio::time::{Instant, sleep, timeout};
use tonic::Request;

use super::{DevServerError, process::ServerProcess};

const DEADLINE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(50);

/// How long one question may take. Something else on the port may take the connection and never answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns when all `namespaces` exist at `address`, or when the server has ended, or after 30 seconds.
pub(super) async fn wait(
    process: &mut ServerProcess,
    address: &str,
    namespaces: [&str; 2],
) -> Result<(), DevServerError> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = process.ended() {
            let log = process.log_tail();
            return Err(DevServerError::Exited { status, log });
        }
        let last_answer = match timeout(PATIENCE, probe(address, namespaces)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(_) => "it did not answer".to_owned(),
        };
        if Instant::now() >= deadline {
            return Err(DevServerError::NotReady {
                address: address.to_owned(),
                waited: DEADLINE,
                last_answer,
                log: process.log_tail(),
            });
        }
        sleep(INTERVAL).await;
    }
}

async fn probe(address: &str, namespaces: [&str; 2]) -> Result<(), String> {
    let options = connection_options(address).retry_options(RetryOptions::no_retries()).build();
    let mut connection = Connection::connect(options).await.map_err(|error| error.to_string())?;
    for namespace in namespaces {
        let request =
            DescribeNamespaceRequest { namespace: namespace.to_owned(), ..DescribeNamespaceRequest::default() };
        WorkflowService::describe_namespace(&mut connection, Request::new(request))
            .await
            .map_err(|status| format!("namespace {namespace}: {}", status.message()))?;
    }
    Ok(())
}

/// How every client of this module connects: plain HTTP/2, named after the process.
pub(super) fn connection_options(
    address: &str,
) -> temporalio_client::ConnectionOptionsBuilder<connection_options_builder::SetIdentity> {
    let target = Url::parse(&format!("http://{address}")).expect("HOST:PORT makes a URL");
    ConnectionOptions::new(target).identity(format!("{}@temporal-agents-testing", std::process::id()))
}
