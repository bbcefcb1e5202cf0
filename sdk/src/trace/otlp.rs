//! The export of spans to a collector, by the OpenTelemetry protocol over HTTP or gRPC.

mod grpc;
mod own_headers;

use std::{sync::Arc, thread, time::Duration};

use opentelemetry::{
    InstrumentationScope, KeyValue, Value,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_otlp::{Protocol, SpanExporter as OtlpExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanEvents, SpanExporter, SpanLinks},
};
use temporal_agents_core::wire::error_debug;

use self::{
    grpc::Grpc,
    own_headers::{OwnHeaders, WithHeaders},
};
use super::span::{Attribute, Attributes, Span};
use crate::provider::http_client;

/// Most spans of one request to the collector.
const BATCH: usize = 512;

/// Name of the service, unless the environment sets another.
const SERVICE: &str = "temporal-agents";

/// Longest time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A collector that receives traces by the OpenTelemetry protocol: protobuf over HTTP, or gRPC.
///
/// `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_EXPORTER_OTLP_HEADERS` are read from
/// the environment.
#[derive(Clone)]
pub struct Otlp(Arc<Transport>);

enum Transport {
    Http(OtlpExporter),
    Grpc(Grpc),
}

/// The error of an export.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The exporter cannot be set up, for example because its URL is malformed.
    #[error("the exporter for {endpoint:?} cannot be set up: {reason}")]
    NotSetUp {
        /// The URL.
        endpoint: String,
        /// The reason.
        reason: String,
    },
    /// The collector has not taken the spans.
    #[error("the collector did not take the spans, of which {sent} of {all} were sent: {reason}")]
    NotSent {
        /// Number of spans in earlier batches.
        sent: usize,
        /// Number of all spans.
        all: usize,
        /// The reason.
        reason: String,
    },
}

error_debug!(enum OtlpError { NotSetUp { endpoint, reason }, NotSent { sent, all, reason } });

impl Otlp {
    /// Creates an exporter to the collector with this base URL, for example
    /// `http://127.0.0.1:4318`: traces go to `/v1/traces` below it, as with
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    pub fn new(endpoint: &str) -> Result<Self, OtlpError> {
        Self::to_traces(&traces_of(endpoint), None)
    }

    /// Creates an exporter to the collector with this base URL, with headers of each request: a key
    /// in `authorization`, for example. They replace those of the environment.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    pub fn with_headers<'h>(
        endpoint: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> Result<Self, OtlpError> {
        let headers = OwnHeaders::parse(headers).map_err(not_set_up(endpoint))?;
        Self::to_traces(&traces_of(endpoint), Some(headers))
    }

    /// Creates an exporter over gRPC to the collector with this URL, for example
    /// `http://127.0.0.1:4317`.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    pub fn grpc(endpoint: &str) -> Result<Self, OtlpError> {
        Self::over_grpc(endpoint, None)
    }

    /// Creates an exporter over gRPC to the collector with this URL, with headers of each request.
    /// They replace those of the environment.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    pub fn grpc_with_headers<'h>(
        endpoint: &str,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
    ) -> Result<Self, OtlpError> {
        Self::over_grpc(endpoint, Some(OwnHeaders::parse(headers).map_err(not_set_up(endpoint))?))
    }

    fn over_grpc(endpoint: &str, headers: Option<OwnHeaders>) -> Result<Self, OtlpError> {
        check_scheme(endpoint).map_err(not_set_up(endpoint))?;
        let mut grpc = Grpc::new(endpoint, headers).map_err(not_set_up(endpoint))?;
        grpc.exporter.set_resource(&resource());
        Ok(Self(Arc::new(Transport::Grpc(grpc))))
    }

    /// Creates an exporter to this URL.
    fn to_traces(url: &str, headers: Option<OwnHeaders>) -> Result<Self, OtlpError> {
        let mut exporter = exporter(url, headers)?;
        exporter.set_resource(&resource());
        Ok(Self(Arc::new(Transport::Http(exporter))))
    }

    /// Creates the exporter that the environment names; `None` if it names none.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    pub(super) fn of_settings(set: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, OtlpError> {
        if set("OTEL_SDK_DISABLED").as_deref() == Some("true") || set("OTEL_TRACES_EXPORTER").as_deref() == Some("none")
        {
            return Ok(None);
        }
        let of_traces = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let Some(endpoint) = of_traces.clone().or_else(|| set("OTEL_EXPORTER_OTLP_ENDPOINT")) else { return Ok(None) };
        let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let protocol = names.into_iter().find_map(|name| Some((name, set(name)?)));
        let exporter = match protocol.as_ref().map(|(name, protocol)| (*name, &**protocol)) {
            Some((_, "grpc")) => Self::grpc(&endpoint)?,
            Some((_, "http/protobuf")) | None if of_traces.is_some() => Self::to_traces(&endpoint, None)?,
            Some((_, "http/protobuf")) | None => Self::new(&endpoint)?,
            Some((name, protocol)) => {
                let reason = format!(
                    "{name} is {protocol:?}; set it to http/protobuf, usually on port 4318, or \
                     to grpc, usually on port 4317"
                );
                return Err(OtlpError::NotSetUp { endpoint, reason });
            }
        };
        Ok(Some(exporter))
    }

    /// Exports spans; returns their number.
    ///
    /// # Errors
    /// [`OtlpError::NotSent`].
    pub(super) async fn export(&self, spans: Vec<Span>) -> Result<usize, OtlpError> {
        let (exporter, all) = (Arc::clone(&self.0), spans.len());
        let export = move || {
            let mut sent = 0;
            let scope = scope();
            for batch in spans.chunks(BATCH) {
                let data = batch.iter().map(|span| data_of(span, &scope)).collect();
                let export = match &*exporter {
                    // Its client blocks.
                    Transport::Http(exporter) => futures::executor::block_on(exporter.export(data)),
                    Transport::Grpc(grpc) => grpc.export(data),
                };
                export.map_err(|error| OtlpError::NotSent { sent, all, reason: error.to_string() })?;
                sent += batch.len();
            }
            Ok(sent)
        };
        tokio::task::spawn_blocking(export)
            .await
            .unwrap_or_else(|error| Err(OtlpError::NotSent { sent: 0, all, reason: error.to_string() }))
    }
}

/// Creates the exporter to the collector that takes traces at this URL, with these headers.
fn exporter(url: &str, headers: Option<OwnHeaders>) -> Result<OtlpExporter, OtlpError> {
    let failed = not_set_up(url);
    check_scheme(url).map_err(&failed)?;
    let is_https = url.starts_with("https:");
    // A blocking client cannot be created where tasks run.
    let client = thread::spawn(move || {
        let tls = http_client::tls(is_https).map_err(|error| error.to_string())?;
        let client = reqwest::blocking::Client::builder().tls_backend_preconfigured(tls).timeout(TIMEOUT);
        // Keys are sent to the configured address only.
        client.redirect(reqwest::redirect::Policy::none()).build().map_err(|error| error.to_string())
    });
    let client = client.join().map_err(|_| failed("its client panicked".to_owned()))?.map_err(&failed)?;
    let builder = OtlpExporter::builder().with_http().with_protocol(Protocol::HttpBinary).with_endpoint(url);
    let builder = match headers {
        Some(headers) => builder.with_http_client(WithHeaders { client, headers }),
        None => builder.with_http_client(client),
    };
    builder.build().map_err(|error| failed(error.to_string()))
}

/// Checks that a URL is one of HTTP.
///
/// # Errors
/// The URL has another scheme.
fn check_scheme(url: &str) -> Result<(), String> {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    Err("it starts with neither https:// nor http://".to_owned())
}

/// Returns the URL of traces below this base URL.
fn traces_of(endpoint: &str) -> String {
    format!("{}/v1/traces", endpoint.trim_end_matches('/'))
}

fn not_set_up(endpoint: &str) -> impl Fn(String) -> OtlpError {
    move |reason| OtlpError::NotSetUp { endpoint: endpoint.to_owned(), reason }
}

/// Returns the resource of all spans.
fn resource() -> Resource {
    let is_named = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
    if is_named("OTEL_SERVICE_NAME") {
        return Resource::builder().build();
    }
    Resource::builder().with_service_name(SERVICE).build()
}

/// Returns the scope of all spans.
fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("temporal-agents").with_version(env!("CARGO_PKG_VERSION")).build()
}

fn data_of(span: &Span, scope: &InstrumentationScope) -> SpanData {
    let context = SpanContext::new(
        TraceId::from_bytes(span.trace.0),
        SpanId::from_bytes(span.id.0),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    SpanData {
        span_context: context,
        parent_span_id: span.parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.0)),
        parent_span_is_remote: false,
        span_kind: if span.is_client { SpanKind::Client } else { SpanKind::Internal },
        name: span.name.clone().into(),
        start_time: span.start,
        end_time: span.end,
        attributes: key_values(&span.attributes),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: span.failure.clone().map_or(Status::Unset, Status::error),
        instrumentation_scope: scope.clone(),
    }
}

/// Returns attributes in the form of the exporter.
fn key_values(attributes: &Attributes) -> Vec<KeyValue> {
    let value = |attribute: &Attribute| match attribute {
        Attribute::Text(text) => Value::String(text.clone().into()),
        Attribute::Number(number) => Value::I64(*number),
        Attribute::Float(number) => Value::F64(*number),
        Attribute::Flag(flag) => Value::Bool(*flag),
        Attribute::Texts(texts) => {
            Value::Array(opentelemetry::Array::String(texts.iter().map(|text| text.clone().into()).collect()))
        }
    };
    attributes.iter().map(|(name, attribute)| KeyValue::new(name.clone(), value(attribute))).collect()
}

impl std::fmt::Debug for Otlp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Otlp").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
