//! The headers that the creator of an exporter sets.
//!
//! # Design
//! **They replace those of the environment.** `OTEL_EXPORTER_OTLP_HEADERS` has the key of one
//! collector, which no other collector may receive. The exporter merges the two sets, so they are
//! set again on each request.

use std::fmt;

use futures::future::BoxFuture;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tonic::{
    Status,
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
    service::Interceptor,
};

/// The headers that the exporter itself sets.
const OF_EXPORTER: [&str; 3] = ["content-type", "content-encoding", "user-agent"];

/// The headers of each request.
#[derive(Clone)]
pub(super) struct OwnHeaders(MetadataMap);

impl OwnHeaders {
    /// Parses names and values.
    ///
    /// # Errors
    /// A name or a value is malformed.
    pub(super) fn parse<'h>(headers: impl IntoIterator<Item = (&'h str, &'h str)>) -> Result<Self, String> {
        let mut parsed = MetadataMap::new();
        for (name, value) in headers {
            let key = AsciiMetadataKey::from_bytes(name.to_ascii_lowercase().as_bytes());
            let (Ok(key), Ok(value)) = (key, AsciiMetadataValue::try_from(value)) else {
                return Err(format!("the name or the value of the header {name:?} is malformed"));
            };
            parsed.insert(key, value);
        }
        Ok(Self(parsed))
    }
}

impl Interceptor for OwnHeaders {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        let mut own = self.0.clone();
        for name in OF_EXPORTER {
            if let Some(value) = request.metadata().get(name) {
                own.insert(name, value.clone());
            }
        }
        *request.metadata_mut() = own;
        Ok(request)
    }
}

/// A client of HTTP that sends these headers.
pub(super) struct WithHeaders {
    pub(super) client: reqwest::blocking::Client,
    pub(super) headers: OwnHeaders,
}

impl HttpClient for WithHeaders {
    fn send_bytes<'c, 'f>(&'c self, mut request: Request<Bytes>) -> BoxFuture<'f, Result<Response<Bytes>, HttpError>>
    where
        'c: 'f,
        Self: 'f,
    {
        let mut own = self.headers.0.clone().into_headers();
        for name in OF_EXPORTER {
            if let Some(value) = request.headers().get(name) {
                own.insert(name, value.clone());
            }
        }
        *request.headers_mut() = own;
        self.client.send_bytes(request)
    }
}

impl fmt::Debug for WithHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The headers hold keys.
        f.debug_struct("WithHeaders").finish_non_exhaustive()
    }
}
