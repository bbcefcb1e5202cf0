//! Measures the CPU of a worker that sends traces of all its runs and counts them, beside one that
//! does neither. The collector is in this process, takes everything and answers at once; the meter
//! drops what it gets, since an exporter's own cost is not ours.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, body::Bytes, routing::post};
use tokio::net::TcpListener;

use super::{
    Column, Scale, Server,
    figures::median,
    small::{TOOLS, measure_one},
    worker_process::WorkerProcess,
};

/// Measures rounds of both workers, and prints their CPU and its ratios.
pub(crate) async fn observed(rounds: u32, scale: &Scale) -> anyhow::Result<()> {
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let take = move |body: Bytes| {
        counted.fetch_add(body.len(), Ordering::Relaxed);
        std::future::ready(())
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let collector = tokio::spawn(async { axum::serve(listener, Router::new().route("/v1/traces", post(take))).await });
    let mut ratios = Vec::new();
    println!("| {} | without, ms/run | with, ms/run | ratio | traces, kB |", TOOLS.0);
    println!("|---|---:|---:|---:|---:|");
    for round in 1..=rounds {
        let without = worker_cpu(&[], scale).await?;
        let before = received.load(Ordering::Relaxed);
        let with = worker_cpu(&["--collector", &url], scale).await?;
        let bytes = received.load(Ordering::Relaxed) - before;
        anyhow::ensure!(bytes > 0, "the collector has received nothing");
        ratios.push(with / without);
        println!("| round {round} | {without:.2} | {with:.2} | {:.2} | {} |", with / without, bytes / 1000);
    }
    println!("Median of the ratios of {rounds} rounds, {}: {:.2}.", scale.name, median(ratios));
    collector.abort();
    Ok(())
}

async fn worker_cpu(arguments: &[&str], scale: &Scale) -> anyhow::Result<f64> {
    let server = Server::start().await?;
    let worker = WorkerProcess::start_with(server.address(), TOOLS.0, arguments).await?;
    let measured = measure_one(&server, &worker, Column::Agents, TOOLS, scale).await?;
    drop(worker);
    server.end().await;
    Ok(measured.worker_cpu)
}
