use std::io::Read;

use futures::executor::block_on;
use proptest::prelude::*;
use prost::Message;
use temporalio_common::{
    data_converters::{PayloadCodec, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

use super::ZstdCodec;

fn json(data: impl Into<Vec<u8>>) -> Payload {
    Payload {
        metadata: [("encoding".to_owned(), b"json/plain".to_vec())].into(),
        data: data.into(),
        ..Payload::default()
    }
}

const MIB: usize = 1024 * 1024;

fn encode(codec: ZstdCodec, payload: Payload) -> Payload {
    encode_all(codec, vec![payload]).pop().unwrap()
}

fn encode_all(codec: ZstdCodec, payloads: Vec<Payload>) -> Vec<Payload> {
    block_on(codec.encode(&SerializationContextData::None, payloads)).unwrap()
}

fn decode(codec: ZstdCodec, payload: Payload) -> Result<Payload, String> {
    decode_all(codec, vec![payload]).map(|mut payloads| payloads.pop().unwrap())
}

fn decode_all(codec: ZstdCodec, payloads: Vec<Payload>) -> Result<Vec<Payload>, String> {
    block_on(codec.decode(&SerializationContextData::None, payloads)).map_err(|error| error.to_string())
}

fn compressed(data: Vec<u8>) -> Payload {
    Payload { metadata: [("encoding".to_owned(), b"binary/zstd".to_vec())].into(), data, ..Payload::default() }
}

/// Returns bytes that no compression makes smaller.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn a_long_text_becomes_small_and_comes_back_with_its_metadata() {
    let codec = ZstdCodec::default();
    let text = json("It was a bright cold day in April. ".repeat(100));
    let small = encode(codec, text.clone());
    assert_eq!(small.metadata.into_iter().collect::<Vec<_>>(), [("encoding".to_owned(), b"binary/zstd".to_vec())]);
    assert!(small.data.len() < 200, "{} bytes", small.data.len());
    assert_eq!(decode(codec, compressed(small.data)), Ok(text));
}

#[test]
fn what_is_short_or_does_not_shrink_passes_as_it_is() {
    let codec = ZstdCodec::default();
    for payload in [Payload::default(), json("x".repeat(900)), json(noise(5000))] {
        assert_eq!(encode(codec, payload.clone()), payload);
        assert_eq!(decode(codec, payload.clone()), Ok(payload));
    }
    let never = ZstdCodec::builder().min_bytes(usize::MAX).build();
    let text = json("x".repeat(5000));
    assert_eq!(encode(never, text.clone()), text);
    assert_eq!(decode(never, encode(codec, text.clone())), Ok(text), "and reads what others write");
}

#[test]
fn the_frame_holds_the_payload_as_a_protobuf_message() {
    let text = json("y".repeat(5000));
    let frame = encode(ZstdCodec::default(), text.clone()).data;
    let plain = zstd::decode_all(&*frame).unwrap();
    assert_eq!(Payload::decode(&*plain).unwrap(), text);
}

#[test]
fn a_small_frame_that_stands_for_too_much_is_an_error() {
    let codec = ZstdCodec::builder().max_bytes(100_000).build();
    let too_large = "Encoding error: the compressed payloads of a message together exceed 100000 bytes; raise \
                     ZstdCodec's max_bytes if you trust their origin";
    let says_so = zstd::bulk::compress(&vec![0; 1_000_000], 3).unwrap();
    assert!(says_so.len() < 200);
    assert_eq!(decode(codec, compressed(says_so)), Err(too_large.to_owned()));
    // A stream does not contain its size.
    let stream = zstd::encode_all(std::io::repeat(0).take(1_000_000), 3).unwrap();
    assert_eq!(decode(codec, compressed(stream)), Err(too_large.to_owned()));
    // A payload that would be too large to be read is not written compressed.
    let large = json(vec![b'x'; 200_000]);
    assert_eq!(encode(codec, large.clone()), large);
}

#[test]
fn many_payloads_of_a_message_share_one_budget() {
    let codec = ZstdCodec::builder().max_bytes(MIB).build();
    let bomb = compressed(zstd::bulk::compress(&json(vec![0; MIB - 100]).encode_to_vec(), 3).unwrap());
    assert!(decode(codec, bomb.clone()).is_ok(), "one alone is within the limit");
    let too_large = "Encoding error: the compressed payloads of a message together exceed 1048576 bytes; raise \
                     ZstdCodec's max_bytes if you trust their origin";
    assert_eq!(decode_all(codec, vec![bomb; 32]), Err(too_large.to_owned()));
}

#[test]
fn what_a_message_stands_for_is_bounded_by_its_size() {
    let codec = ZstdCodec::default();
    let large = json(vec![0; 60 * MIB]);
    let bomb = compressed(zstd::bulk::compress(&large.encode_to_vec(), 3).unwrap());
    assert!(bomb.data.len() < 10_000);
    let suspicious = "Encoding error: the compressed payloads of a message together exceed 8388608 bytes and 100 \
                      times their size; raise ZstdCodec's max_ratio if you trust their origin";
    assert_eq!(decode(codec, bomb.clone()), Err(suspicious.to_owned()));
    assert_eq!(decode(ZstdCodec::builder().max_ratio(100_000).build(), bomb), Ok(large.clone()));
    // A payload that could not be read is not written compressed.
    assert_eq!(encode(codec, large.clone()), large);
    let seven = vec![json(vec![0; 3 * MIB]); 7];
    let written = encode_all(codec, seven.clone());
    assert_ne!(written, seven);
    assert_eq!(decode_all(codec, written), Ok(seven));
}

#[test]
fn a_message_of_large_texts_comes_back() {
    let words = noise(3 * MIB).into_iter().map(|byte| b"abcdefgh ijklmnop qrstu vwxyz\n,."[usize::from(byte) % 32]);
    let text = json(words.collect::<Vec<_>>());
    for codec in [ZstdCodec::default(), ZstdCodec::builder().max_bytes(64 * MIB).level(1).build()] {
        let message = vec![text.clone(); 10];
        let written = encode_all(codec, message.clone());
        assert!(written.iter().all(|payload| payload.data.len() < 2 * text.data.len() / 3));
        assert_eq!(decode_all(codec, written), Ok(message));
    }
}

#[test]
fn a_broken_frame_is_an_error() {
    let codec = ZstdCodec::default();
    let mut frame = encode(codec, json("z".repeat(5000))).data;
    let error = decode(codec, compressed(b"not a frame".to_vec())).unwrap_err();
    assert!(error.contains("is not a Zstandard frame"), "{error}");
    let cut = frame[..frame.len() - 5].to_vec();
    assert!(decode(codec, compressed(cut)).is_err());
    *frame.last_mut().unwrap() ^= 1;
    assert!(decode(codec, compressed(frame)).is_err(), "the checksum tells");
    let something = zstd::bulk::compress(&[0xff; 2000], 3).unwrap();
    let error = decode(codec, compressed(something)).unwrap_err();
    assert!(error.contains("does not contain a payload"), "{error}");
}

proptest! {
    #[test]
    fn any_payload_comes_back(data in proptest::collection::vec(any::<u8>(), 0..5000), repeat in 1..20_usize, level in 1..10) {
        let codec = ZstdCodec::builder().level(level).min_bytes(0).build();
        let payload = json(data.repeat(repeat));
        prop_assert_eq!(decode(codec, encode(codec, payload.clone())), Ok(payload));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(ZstdCodec::default(), compressed(data));
    }
}
