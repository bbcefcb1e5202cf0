//! Several codecs as one.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use temporalio_common::{
    data_converters::{PayloadCodec, PayloadConversionError, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

type Shared = Arc<dyn PayloadCodec + Send + Sync>;

/// A sequence of codecs: outgoing payloads pass through the first codec first, incoming payloads
/// through the last codec first.
///
/// See the [module](super) for compression with encryption.
#[derive(Clone, Default)]
pub struct CodecChain(Vec<Shared>);

impl CodecChain {
    /// Creates a chain that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a codec, which outgoing payloads pass through after the codecs before it.
    #[must_use]
    pub fn then(mut self, codec: impl PayloadCodec + Send + Sync + 'static) -> Self {
        self.0.push(Arc::new(codec));
        self
    }
}

impl PayloadCodec for CodecChain {
    fn encode(
        &self,
        context: &SerializationContextData,
        mut payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let (codecs, context) = (self.0.clone(), context.clone());
        async move {
            for codec in codecs {
                payloads = codec.encode(&context, payloads).await?;
            }
            Ok(payloads)
        }
        .boxed()
    }

    fn decode(
        &self,
        context: &SerializationContextData,
        mut payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let (codecs, context) = (self.0.clone(), context.clone());
        async move {
            for codec in codecs.into_iter().rev() {
                payloads = codec.decode(&context, payloads).await?;
            }
            Ok(payloads)
        }
        .boxed()
    }
}

impl std::fmt::Debug for CodecChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodecChain").field("codecs", &self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests;
