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
use tokio::runtime::{Builder, Runtime};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};

use super::TIMEOUT;

/// An exporter over gRPC.
pub(super) struct Grpc {
    pub(super) exporter: OtlpExporter,
    /// Set until it is dropped.
    runtime: Option<Runtime>,
}

impl Grpc {
    /// Creates the exporter to the collector at this URL; connects with the first export.
    pub(super) fn new(url: &str, headers: Vec<(String, String)>) -> Result<Self, String> {
        let metadata = metadata(headers)?;
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("otlp").enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let exporter = {
            let _entered = runtime.enter();
            let builder = OtlpExporter::builder().with_tonic().with_metadata(metadata);
            let builder = builder.with_endpoint(url).with_timeout(TIMEOUT);
            let is_https = url.starts_with("https:");
            let builder =
                if is_https { builder.with_tls_config(ClientTlsConfig::new().with_native_roots()) } else { builder };
            builder.build().map_err(|error| error.to_string())?
        };
        Ok(Self { exporter, runtime: Some(runtime) })
    }

    /// Exports a batch. Blocks.
    pub(super) fn export(&self, batch: Vec<SpanData>) -> Result<(), OTelSdkError> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(self.exporter.export(batch)),
            None => Ok(()),
        }
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

/// Returns the headers of each request.
fn metadata(headers: Vec<(String, String)>) -> Result<MetadataMap, String> {
    let mut metadata = MetadataMap::new();
    for (name, value) in headers {
        let key = AsciiMetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
        let (Ok(key), Ok(value)) = (key, AsciiMetadataValue::try_from(value)) else {
            return Err(format!("the name or the value of the header {name:?} is malformed"));
        };
        metadata.insert(key, value);
    }
    Ok(metadata)
}
