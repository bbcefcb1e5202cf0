//! Payload codecs: what happens to payloads between the process and the server.
//!
//! A codec belongs to the client's data converter. Give the same one to the client of the worker and to all others: what one
//! writes the others read. Compression comes before encryption, because nothing compresses what is encrypted:
//!
//! ```
//! # #[cfg(feature = "compression")] {
//! use temporal_agents::worker::codec::{CodecChain, ZstdCodec};
//! use temporalio_client::ClientOptions;
//! use temporalio_common::data_converters::{DataConverter, DefaultFailureConverter, PayloadConverter};
//! # use temporalio_common::data_converters::DefaultPayloadCodec as Encryption;
//!
//! let codec = CodecChain::new().then(ZstdCodec::default()).then(Encryption); // Encryption: a codec of yours
//! let failures = DefaultFailureConverter::new(true); // messages of failures go through the codec, too
//! let converter = DataConverter::new(PayloadConverter::default(), failures, codec);
//! let options = ClientOptions::new("default").data_converter(converter).build();
//! # let _ = options;
//! # }
//! ```
//!
//! How long a compressed text is tells something of what is in it. That matters where somebody who sees the sizes of payloads can
//! also put texts of their own beside a secret, many times over; there, encrypt without compressing.

mod chain;
#[cfg(feature = "compression")]
mod zstd;

#[cfg(feature = "compression")]
pub use self::zstd::ZstdCodec;
pub use chain::CodecChain;
