//! Tests with real servers: they run in parallel, report the reason for a failed start, and end
//! with their value.

use std::net::TcpListener;

use temporalio_client::{ClientOptions, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::workflowservice::v1::{DescribeNamespaceRequest, ListNamespacesRequest};
use tokio::net::TcpStream;

use super::{DevServer, DevServerError, DevServerOptions, ServerLogLevel, ports::Ports, shared::SharedServers};

#[tokio::test]
async fn two_servers_run_beside_each_other() {
    let (first, second) = tokio::join!(DevServer::start(), DevServer::start());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_ne!(first.address(), second.address());
    assert_ne!(first.pid(), second.pid());
    assert_eq!(first.target_url(), format!("http://{}", first.address()));
    for server in [&first, &second] {
        let mut client = server.client().await.unwrap();
        let request =
            DescribeNamespaceRequest { namespace: "default".to_owned(), ..DescribeNamespaceRequest::default() };
        WorkflowService::describe_namespace(&mut client, tonic::Request::new(request)).await.unwrap();
    }
}

#[tokio::test]
async fn options_reach_the_server() {
    let options = DevServerOptions::builder()
        .namespace("agents")
        .ui(true)
        .log_level(ServerLogLevel::Warn)
        .extra_args(vec!["--namespace".to_owned(), "more".to_owned()])
        .build();
    let server = DevServer::start_with(options).await.unwrap();
    assert_eq!(server.namespace(), "agents");

    let ui = server.ui_url().unwrap();
    TcpStream::connect(ui.strip_prefix("http://").unwrap()).await.unwrap();

    let mut client = server.client_with(ClientOptions::new("agents").build()).await.unwrap();
    let request = tonic::Request::new(ListNamespacesRequest::default());
    let namespaces = WorkflowService::list_namespaces(&mut client, request).await.unwrap().into_inner().namespaces;
    let names: Vec<_> =
        namespaces.into_iter().filter_map(|namespace| namespace.namespace_info).map(|info| info.name).collect();
    assert!(["agents", "more"].iter().all(|name| names.iter().any(|other| other == name)), "{names:?}");
}

#[tokio::test]
async fn a_dropped_server_is_gone() {
    let server = DevServer::start().await.unwrap();
    let address = server.address().to_owned();
    drop(server);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_shut_down_server_is_gone() {
    let server = DevServer::start().await.unwrap();
    let address = server.address().to_owned();
    server.shutdown().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_shared_server_has_a_namespace_for_each_and_stops_with_the_last() {
    let shared = SharedServers::new();
    let (first, second) = tokio::join!(shared.server(), shared.server());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.address(), second.address());
    assert_ne!(first.namespace(), second.namespace());
    for server in [&first, &second] {
        let mut client = server.client().await.unwrap();
        let request = DescribeNamespaceRequest {
            namespace: server.namespace().to_owned(),
            ..DescribeNamespaceRequest::default()
        };
        WorkflowService::describe_namespace(&mut client, tonic::Request::new(request)).await.unwrap();
    }
    let address = first.address().to_owned();
    first.shutdown().await;
    TcpStream::connect(&address).await.unwrap();
    second.shutdown().await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn a_shared_server_that_has_ended_is_replaced() {
    let shared = SharedServers::new();
    let first = shared.server().await.unwrap();
    let pid = first.pid().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    while first.running.process.ended().is_none() {
        tokio::task::yield_now().await;
    }
    let second = shared.server().await.unwrap();
    assert_ne!(first.address(), second.address());
    TcpStream::connect(second.address()).await.unwrap();
}

#[tokio::test]
async fn a_fixed_port_that_is_taken_is_an_error_with_the_log() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = DevServerOptions::builder().port(taken.local_addr().unwrap().port()).build();
    let error = DevServer::start_with(options).await.unwrap_err();
    assert!(matches!(&error, DevServerError::Exited { log, .. } if log.contains("in use")), "{error}");
    assert!(error.is_worth_a_retry());
}

#[tokio::test]
async fn an_argument_that_the_cli_refuses_is_an_error_with_the_log() {
    let options = DevServerOptions::builder().extra_args(vec!["--tea".to_owned()]).build();
    let error = DevServer::start_with(options).await.unwrap_err();
    assert!(matches!(&error, DevServerError::Exited { log, .. } if log.contains("--tea")), "{error}");
}

#[test]
fn the_command_line_holds_what_was_chosen() {
    let ports = Ports { grpc: 7000, ui: Some(7001) };
    let options =
        DevServerOptions::builder().lift_poll_limits(false).extra_args(vec!["--log-config".to_owned()]).build();
    let line = options.arguments(&ports, "birthmark").join(" ");
    let expected = "server start-dev --ip 127.0.0.1 --port 7000 --namespace default --namespace birthmark --log-level error \
                    --dynamic-config-value history.timerProcessorMaxTimeShift=\"10ms\" --ui-port 7001 --log-config";
    assert_eq!(line, expected);
}
