//! The metrics in the SDK's exporter for Prometheus.

use std::{net::SocketAddr, sync::Arc};

use serde_json::json;
use temporal_agents::{
    AgentsPlugin,
    metrics::Metrics,
    wire::AgentRequest,
    worker::InProcessDeltas,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::AgentEnvironment;
use temporalio_common::telemetry::{PrometheusExporterOptions, start_prometheus_metric_exporter};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::runs::{desk, model};

/// Returns the metrics that Prometheus reads at this address.
async fn scraped(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Returns the lines of metrics without durations and sizes, which differ.
fn counts(scraped: &str) -> String {
    let is_count = |line: &&str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let is_ours = name.starts_with("gen_ai_") || name.starts_with("temporal_agents_");
        is_ours && !["_bucket", "_sum", "_oldest"].iter().any(|end| name.ends_with(end))
    };
    let mut lines: Vec<&str> = scraped.lines().filter(is_count).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[tokio::test]
async fn prometheus_reads_the_metrics_of_runs() -> anyhow::Result<()> {
    let options = PrometheusExporterOptions::builder()
        .socket_addr("127.0.0.1:0".parse()?)
        .counters_total_suffix(true)
        .unit_suffix(true)
        .use_seconds_for_durations(true)
        .histogram_bucket_overrides(Metrics::buckets())
        .build();
    let exporter = start_prometheus_metric_exporter(options)?;
    let metrics = Metrics::new(Arc::clone(&exporter.meter) as _);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((desk,))))?
        .agent(desk)
        .model(&model())
        .plugin(move |plugin: AgentsPlugin| plugin.metrics(&metrics).deltas(InProcessDeltas::new(|_| {})))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "A lamp.")).await?;
    let handle = env.agent_handle(&started);
    let asked = handle.wait_for_interruptions().await?;
    handle.approve(&*asked[0].id).await?;
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    let scraped = scraped(exporter.bound_addr).await?;
    insta::assert_snapshot!(counts(&scraped));
    // The buckets are those of the conventions.
    let first = "gen_ai_client_inference_duration_seconds_bucket";
    assert!(scraped.lines().any(|line| line.starts_with(first) && line.contains("le=\"0.01\"")), "{scraped}");
    env.finish().await?;
    exporter.abort_handle.abort();
    Ok(())
}
