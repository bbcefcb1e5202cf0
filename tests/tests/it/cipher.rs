//! A codec that hides payloads from whoever does not know the key. A toy: it stands in for encryption.

use futures::{FutureExt, future::BoxFuture};
use temporalio_common::{
    data_converters::{
        DataConverter, DefaultFailureConverter, PayloadCodec, PayloadConversionError, PayloadConverter,
        SerializationContextData,
    },
    protos::temporal::api::common::v1::Payload,
};

const ENCODING: &[u8] = b"binary/toy-cipher";

pub(crate) struct Cipher(pub(crate) u8);

impl Cipher {
    fn turned(&self, bytes: &[u8]) -> Vec<u8> {
        bytes
            .iter()
            .enumerate()
            .map(|(place, byte)| byte ^ self.0 ^ u8::try_from(place % 251).unwrap_or_default())
            .collect()
    }
}

impl PayloadCodec for Cipher {
    fn encode(
        &self,
        _context: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let hidden = |payload: Payload| Payload {
            metadata: [("encoding".to_owned(), ENCODING.to_vec())].into(),
            data: self.turned(&prost::Message::encode_to_vec(&payload)),
            ..Payload::default()
        };
        let hidden = payloads.into_iter().map(hidden).collect();
        std::future::ready(Ok(hidden)).boxed()
    }

    fn decode(
        &self,
        _context: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let shown = |payload: Payload| {
            if payload.metadata.get("encoding").is_none_or(|encoding| encoding != ENCODING) {
                return Ok(payload);
            }
            let shown = prost::Message::decode(&*self.turned(&payload.data));
            shown.map_err(|error| PayloadConversionError::EncodingError(Box::new(error)))
        };
        let shown = payloads.into_iter().map(shown).collect();
        std::future::ready(shown).boxed()
    }
}

/// Hides all payloads, and the messages of failures.
pub(crate) fn ciphered(codec: impl PayloadCodec + Send + Sync + 'static) -> DataConverter {
    DataConverter::new(PayloadConverter::default(), DefaultFailureConverter::new(true), codec)
}
