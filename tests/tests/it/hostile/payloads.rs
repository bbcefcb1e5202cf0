//! Compressed payloads that are small on their way and large on arrival.

use futures::executor::block_on;
use prost::Message;
use temporal_agents::worker::codec::ZstdCodec;
use temporalio_common::{
    data_converters::{PayloadCodec, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

use super::victim::attack;

/// How many come in one message.
const COUNT: usize = 32;
/// What each becomes, which the codec's default limit for one payload lets pass.
const BYTES: usize = 63 * 1024 * 1024;

#[test]
fn thirty_two_zstd_bombs_in_one_message_are_refused() -> anyhow::Result<()> {
    let large = Payload { data: vec![b' '; BYTES], ..Payload::default() };
    // By default the codec does not write what it would refuse to read.
    let careless = ZstdCodec::builder().max_ratio(usize::MAX).build();
    let small = block_on(careless.encode(&SerializationContextData::None, vec![large]))?.remove(0);
    anyhow::ensure!(small.data.len() < 10_000, "{} bytes are no bomb", small.data.len());
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), small.encode_to_vec())?;
    attack("32 zstd bombs", &file.path().display().to_string())
}

pub(super) fn bombs(file: &str) -> anyhow::Result<String> {
    let bomb = Payload::decode(&*std::fs::read(file)?)?;
    let decoded = block_on(ZstdCodec::default().decode(&SerializationContextData::None, vec![bomb; COUNT]));
    match decoded {
        Err(error) => Ok(error.to_string()),
        Ok(payloads) => {
            anyhow::bail!("{} bytes were accepted", payloads.iter().map(|one| one.data.len()).sum::<usize>())
        }
    }
}
