//! Payloads compressed with Zstandard.
//!
//! A compressed payload has the metadata `encoding: binary/zstd`, and its data is one Zstandard
//! frame (RFC 8878, with content size and checksum) of the original payload as a protobuf message
//! (`temporal.api.common.v1.Payload`), so that the original metadata is restored with it. It is the
//! form of the Go SDK's zlib codec with another algorithm: a codec server in any language
//! decompresses the frame and parses the message.
//!
//! # Design
//! **Compression is the C library, `zstd`.** It needs a C compiler, but so does ring, which is in
//! every build with the worker half; the encoder in pure Rust (`ruzstd` 0.9) has one level, the
//! fastest. Frames contain their decompressed size, which is checked against the codec's limit
//! before memory is allocated for it. A codec processes payloads, not conversations: no dictionary
//! is shared between messages, because references leave little to share.

use std::io::Read;

use futures::{FutureExt, future::BoxFuture};
use prost::Message;
use temporalio_common::{
    data_converters::{PayloadCodec, PayloadConversionError, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};
use zstd::{
    bulk::Compressor,
    stream::{raw::CParameter, read::Decoder},
};

const ENCODING: &[u8] = b"binary/zstd";
/// The default minimum size of a payload that is compressed, in bytes: for a smaller one, a frame
/// saves little.
const DEFAULT_MIN_BYTES: usize = 1024;
/// The default maximum size of the decompressed payloads of one message, in bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The size in bytes up to which a message may decompress regardless of its own size: twice the
/// size that the server accepts in one request.
const RATIO_EXEMPT_BYTES: usize = 8 * 1024 * 1024;
/// The default maximum ratio of the decompressed size to the size of the message. Prose becomes 2
/// to 4 times smaller, a table of repeated rows some 30 times; zeros become 30,000 times smaller,
/// which is how 2 MB can represent 60 GB.
const DEFAULT_MAX_RATIO: usize = 100;
const DEFAULT_LEVEL: i32 = 3;

/// Compresses payloads from 1 KiB on, if that makes them smaller, and decompresses the payloads
/// that it has compressed.
///
/// All other payloads pass unchanged, in both directions. So the codec can be enabled while
/// workflows run: payloads that were written before are read as before. Enable it in two deploys:
/// first everywhere for reading (`min_bytes(usize::MAX)`), then for writing. Disable it in the
/// reverse order, and keep it for reading as long as there are histories with compressed payloads.
///
/// The text of a conversation becomes 2 to 4 times smaller, images and files in Base64 by a quarter
/// at most. Temporal's limits (2 MiB for a payload, 50 MB for a history) apply to the size that is
/// sent, so more fits. The limit on a model request is checked before compression: with text alone,
/// [`ModelActivityOptions::max_request_bytes`](crate::ModelActivityOptions::max_request_bytes) may
/// be 4 MB. Do not set it higher than what certainly fits: a payload that is still too large fails
/// the workflow task, again and again. The limit need not be raised: items that are too large for
/// one request are recorded in portions.
///
/// Compression runs on the thread that sends: a megabyte takes some milliseconds at level 3, and a
/// large fraction of a second at level 19.
///
/// ```
/// use temporal_agents::worker::codec::ZstdCodec;
///
/// let small_and_slow = ZstdCodec::builder().level(12).min_bytes(4096).build();
/// # let _ = small_and_slow;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, bon::Builder)]
pub struct ZstdCodec {
    /// Compression level, from 1 (fastest) to 22 (smallest). Default 3. Every level can read
    /// payloads of every other.
    #[builder(default = DEFAULT_LEVEL)]
    level: i32,
    /// Minimum size of a payload that is compressed, in bytes. Default 1024.
    #[builder(default = DEFAULT_MIN_BYTES)]
    min_bytes: usize,
    /// Maximum size, in bytes, of the decompressed payloads of one message together (all arguments
    /// of a workflow, for example). A larger message is an error, which is reported before that
    /// much memory is used: a small frame may represent gigabytes. A payload that would exceed the
    /// limit is sent uncompressed. Default 64 MiB.
    #[builder(default = MOST_BYTES)]
    max_bytes: usize,
    /// Maximum ratio of the decompressed to the compressed size of the payloads of a message, from
    /// 8 MiB on. A higher ratio is an error; a payload that would exceed it is sent uncompressed.
    /// Default 100.
    #[builder(default = DEFAULT_MAX_RATIO)]
    max_ratio: usize,
}

/// The limit for the decompressed payloads of a message, and their size so far.
#[derive(Clone, Copy, Debug)]
struct Budget {
    codec: ZstdCodec,
    /// Size of the compressed payloads, in bytes.
    compressed: usize,
    /// Size of the decompressed payloads so far, in bytes.
    used: usize,
}

/// The reason that a payload cannot be decompressed.
#[derive(Debug, thiserror::Error)]
enum DecodeError {
    #[error(
        "the compressed payloads of a message together exceed {most} bytes; raise ZstdCodec's max_bytes if you trust \
         their origin"
    )]
    TooLarge { most: usize },
    #[error(
        "the compressed payloads of a message together exceed {most} bytes and {ratio} times their size; raise \
         ZstdCodec's max_ratio if you trust their origin"
    )]
    Suspicious { most: usize, ratio: usize },
    #[error("a payload with the encoding binary/zstd is not a Zstandard frame: {0}")]
    Frame(#[source] std::io::Error),
    #[error("a compressed payload does not contain a payload: {0}")]
    Message(#[from] prost::DecodeError),
}

impl Default for ZstdCodec {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl ZstdCodec {
    /// Returns the payload in compressed form, if that is smaller and if the message around it can
    /// then still be read; otherwise returns it unchanged.
    fn compressed(self, payload: Payload, budget: &mut Budget) -> Result<Payload, std::io::Error> {
        let plain = payload.encoded_len();
        let used = budget.used.saturating_add(plain);
        if plain < self.min_bytes || used > self.max_bytes {
            return Ok(payload);
        }
        let mut compressor = Compressor::new(self.level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        let smaller = Payload {
            metadata: [("encoding".to_owned(), ENCODING.to_vec())].into(),
            data: compressor.compress(&payload.encode_to_vec())?,
            ..Payload::default()
        };
        let more = Budget { compressed: budget.compressed.saturating_add(smaller.data.len()), used, ..*budget };
        if smaller.encoded_len() >= plain || used > more.most() {
            return Ok(payload);
        }
        *budget = more;
        Ok(smaller)
    }

    fn decompressed(self, payload: Payload, budget: &mut Budget) -> Result<Payload, DecodeError> {
        if !is_compressed(&payload) {
            return Ok(payload);
        }
        let most = budget.most().saturating_sub(budget.used);
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        if let Ok(Some(size)) = zstd::zstd_safe::get_frame_content_size(&payload.data)
            && size > limit
        {
            return Err(budget.exceeded());
        }
        let mut decoder = Decoder::new(&*payload.data).map_err(DecodeError::Frame)?;
        // The memory that the frame requests in advance is also limited.
        decoder.window_log_max(window_log(self.max_bytes)).map_err(DecodeError::Frame)?;
        let mut plain = Vec::new();
        decoder.take(limit.saturating_add(1)).read_to_end(&mut plain).map_err(DecodeError::Frame)?;
        if plain.len() > most {
            return Err(budget.exceeded());
        }
        budget.used += plain.len();
        Ok(Payload::decode(&*plain)?)
    }
}

impl Budget {
    /// Returns the maximum size of the decompressed payloads, in bytes.
    fn most(&self) -> usize {
        let Self { codec, compressed, used: _ } = self;
        compressed.saturating_mul(codec.max_ratio).max(RATIO_EXEMPT_BYTES).min(codec.max_bytes)
    }

    fn exceeded(&self) -> DecodeError {
        let (most, ratio) = (self.most(), self.codec.max_ratio);
        if most == self.codec.max_bytes {
            DecodeError::TooLarge { most }
        } else {
            DecodeError::Suspicious { most, ratio }
        }
    }
}

fn is_compressed(payload: &Payload) -> bool {
    payload.metadata.get("encoding").is_some_and(|encoding| encoding == ENCODING)
}

/// Returns the largest window that a frame may request, as a power of two: one that holds `bytes`
/// bytes, but at least 8 MiB, which the format requires every decoder to support.
fn window_log(bytes: usize) -> u32 {
    bytes.checked_next_power_of_two().map_or(27, usize::trailing_zeros).clamp(23, 27)
}

impl PayloadCodec for ZstdCodec {
    fn encode(
        &self,
        _context: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = *self;
        async move {
            let mut budget = Budget { codec, compressed: 0, used: 0 };
            let encoded: Result<Vec<Payload>, _> =
                payloads.into_iter().map(|payload| codec.compressed(payload, &mut budget)).collect();
            encoded.map_err(|error| PayloadConversionError::EncodingError(Box::new(error)))
        }
        .boxed()
    }

    fn decode(
        &self,
        _context: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let codec = *self;
        async move {
            let compressed =
                payloads.iter().filter(|payload| is_compressed(payload)).map(|payload| payload.data.len()).sum();
            let mut budget = Budget { codec, compressed, used: 0 };
            let decoded: Result<Vec<Payload>, _> =
                payloads.into_iter().map(|payload| codec.decompressed(payload, &mut budget)).collect();
            decoded.map_err(|error| PayloadConversionError::EncodingError(Box::new(error)))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
