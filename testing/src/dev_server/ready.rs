//! Waits until a started server serves its namespaces.

use std::time::Duration;

use temporalio_client::{
    Connection, ConnectionOptions, GrpcCompression, RetryOptions, Url, connection_options_builder,
    grpc::WorkflowService,
};
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest;
use tokio::time::{Instant, sleep, timeout};
use tonic::Request;

use super::{DevServerError, process::ServerProcess};

const DEADLINE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(50);

/// Maximum time between the first answer of a server and its announcement. A server of another
/// version, which may announce nothing, counts as ready after this time.
const ANNOUNCEMENT: Duration = Duration::from_secs(5);

/// Maximum duration of one request. Another program on the port may accept the connection and never
/// answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits until all `namespaces` exist at `address` and all services serve. Fails if the server has
/// ended, or after 30 seconds.
pub(super) async fn wait(process: &ServerProcess, address: &str, namespaces: [&str; 2]) -> Result<(), DevServerError> {
    let deadline = Instant::now() + DEADLINE;
    until_it_answers(process, address, namespaces, deadline).await?;
    let announced_by = Instant::now() + ANNOUNCEMENT;
    while !process.announced() && Instant::now() < announced_by {
        still_runs(process)?;
        sleep(INTERVAL).await;
    }
    // A service whose port was in use panics at the moment of the announcement.
    sleep(INTERVAL).await;
    still_runs(process)
}

fn still_runs(process: &ServerProcess) -> Result<(), DevServerError> {
    match process.ended() {
        None => Ok(()),
        Some(status) => Err(DevServerError::Exited { status, log: process.log_tail() }),
    }
}

async fn until_it_answers(
    process: &ServerProcess,
    address: &str,
    namespaces: [&str; 2],
    deadline: Instant,
) -> Result<(), DevServerError> {
    loop {
        still_runs(process)?;
        let last_answer = match timeout(PATIENCE, probe(address, namespaces)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(reason)) => reason,
            Err(_) => "the server did not answer".to_owned(),
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

/// Returns the connection options of all clients of this module: plain HTTP/2, an identity that
/// contains the process id, and no compression, which costs a third of a worker's CPU and saves
/// nothing over loopback.
pub(super) fn connection_options(
    address: &str,
) -> temporalio_client::ConnectionOptionsBuilder<
    connection_options_builder::SetGrpcCompression<connection_options_builder::SetIdentity>,
> {
    let target = Url::parse(&format!("http://{address}")).expect("HOST:PORT makes a URL");
    ConnectionOptions::new(target)
        .identity(format!("{}@temporal-agents-testing", std::process::id()))
        .grpc_compression(GrpcCompression::None)
}
