//! Exports the trace of a workflow to a collector.

use temporal_agents::trace::{Otlp, export_history, export_workflow};

use super::{Arguments, Failure, connect, data_converter, saved};

/// Exports the trace; returns a line about it.
pub(super) async fn export(arguments: &Arguments, url: &str) -> Result<String, Failure> {
    let is_grpc = std::env::var("OTEL_EXPORTER_OTLP_PROTOCOL").is_ok_and(|protocol| protocol == "grpc");
    let otlp = if is_grpc { Otlp::grpc(url)? } else { Otlp::new(url)? };
    let spans = if let Some(path) = &arguments.history {
        export_history(saved(path)?, &data_converter(), &otlp).await?
    } else {
        let workflow = arguments.workflow.as_deref().unwrap_or_default();
        export_workflow(&connect(arguments).await?, workflow, &otlp).await?
    };
    Ok(match spans {
        0 => "nothing was sent: the caller's trace is not sampled".to_owned(),
        spans => format!("{spans} spans were sent to {url}"),
    })
}
