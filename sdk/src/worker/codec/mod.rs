//! Payload codecs, which transform payloads between the process and the server.
//!
//! A codec belongs to the client's data converter. Configure the same codec in the client of the
//! worker and in all others: each must read what the others write. Compression comes before
//! encryption, because encrypted data cannot be compressed:
//!
//! ```
//! # #[cfg(feature = "compression")] {
//! use temporal_agents::worker::codec::{CodecChain, ZstdCodec};
//! use temporalio_client::ClientOptions;
//! use temporalio_common::data_converters::{
//!     DataConverter, DefaultFailureConverter, PayloadConverter,
//! };
//! # use temporalio_common::data_converters::DefaultPayloadCodec as Encryption;
//!
//! // `Encryption` is a codec of yours.
//! let codec = CodecChain::new().then(ZstdCodec::default()).then(Encryption);
//! let failures = DefaultFailureConverter::new(true); // failure messages are also encoded
//! let converter = DataConverter::new(PayloadConverter::default(), failures, codec);
//! let options = ClientOptions::new("default").data_converter(converter).build();
//! # let _ = options;
//! # }
//! ```
//!
//! The length of compressed data reveals something about its content. That matters if an attacker
//! who sees the sizes of payloads can also place data of their own beside a secret, many times; in
//! that case, encrypt without compression.

mod chain;
#[cfg(feature = "compression")]
mod zstd;

#[cfg(feature = "compression")]
pub use self::zstd::ZstdCodec;
pub use chain::CodecChain;
