//! Compressed payloads, changed byte by byte.

use futures::executor::block_on;
use proptest::{collection::vec, prelude::any, sample::Index};
use temporal_agents::worker::codec::ZstdCodec;
use temporalio_common::{
    data_converters::{PayloadCodec, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

use super::cases::check;

const CASES: u32 = 1000;
const MOST: usize = 1024 * 1024;

#[test]
fn changed_frames_are_decompressed_within_their_limit_or_refused() -> anyhow::Result<()> {
    let codec = ZstdCodec::builder().max_bytes(MOST).build();
    let text = "It was a bright cold day in April. ".repeat(300);
    let plain = Payload { data: text.into_bytes(), ..Payload::default() };
    let frame = block_on(codec.encode(&SerializationContextData::None, vec![plain]))?.remove(0);
    // Places and bytes; where to cut; how often the frame is repeated.
    let changes = (vec((any::<Index>(), any::<u8>()), 0..6), any::<Option<Index>>(), 1..4_usize);
    check(CASES, &changes, |(bytes, cut, times)| {
        let mut mutant = frame.clone();
        for (place, byte) in bytes {
            let at = place.index(mutant.data.len());
            mutant.data[at] = byte;
        }
        mutant.data = mutant.data.repeat(times);
        if let Some(cut) = cut {
            mutant.data.truncate(cut.index(mutant.data.len()));
        }
        if let Ok(decoded) = block_on(codec.decode(&SerializationContextData::None, vec![mutant])) {
            let bytes: usize = decoded.iter().map(|payload| payload.data.len()).sum();
            anyhow::ensure!(bytes <= MOST, "{bytes} bytes");
        }
        Ok(())
    })
}
