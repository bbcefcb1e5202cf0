//! The export of spans over gRPC.
//!
//! # Design
//! **A runtime of its own.** A connection of `tonic` works in the runtime in which it is created.
//! An [`Otlp`](super::Otlp) may be created outside of a runtime, and may outlive that of its
//! creator.

use opentelemetry_otlp::{
    SpanExporter as OtlpExporter, WithExportConfig, WithTonicConfig, tonic_types::transport::ClientTlsConfig,
};
use opentelemetry_sdk::{
    error::OTelSdkError,
    trace::{SpanData, SpanExporter},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use super::{TIMEOUT, own_headers::OwnHeaders};

/// An exporter over gRPC.
pub(super) struct Grpc {
    pub(super) exporter: OtlpExporter,
    /// Set until it is dropped.
    runtime: Option<Runtime>,
}

impl Grpc {
    /// Creates the exporter to the collector at this URL; connects with the first export.
    ///
    /// # Errors
    /// The runtime or the exporter cannot be created.
    pub(super) fn new(url: &str, headers: Option<OwnHeaders>) -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("otlp").enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let exporter = {
            let _entered = runtime.enter();
            let builder = OtlpExporter::builder().with_tonic().with_endpoint(url).with_timeout(TIMEOUT);
            let builder = match headers {
                Some(headers) => builder.with_interceptor(headers),
                None => builder,
            };
            let is_https = url.starts_with("https:");
            let builder =
                if is_https { builder.with_tls_config(ClientTlsConfig::new().with_native_roots()) } else { builder };
            builder.build().map_err(|error| error.to_string())?
        };
        Ok(Self { exporter, runtime: Some(runtime) })
    }

    /// Exports a batch of spans; blocks until the collector has answered.
    ///
    /// # Errors
    /// The collector is not reached in time, or refuses the batch.
    ///
    /// # Panics
    /// Within a task of a runtime.
    pub(super) fn export(&self, batch: Vec<SpanData>) -> Result<(), OTelSdkError> {
        let runtime = self.runtime.as_ref().expect("it is taken only when the exporter is dropped");
        // The exporter's own limit does not include the time to connect.
        let export = async { timeout(TIMEOUT, self.exporter.export(batch)).await };
        runtime.block_on(export).unwrap_or(Err(OTelSdkError::Timeout(TIMEOUT)))
    }
}

impl Drop for Grpc {
    fn drop(&mut self) {
        // A task may drop the exporter, and must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
