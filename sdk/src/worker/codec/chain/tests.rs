use futures::{FutureExt, executor::block_on, future::BoxFuture};
use temporalio_common::{
    data_converters::{PayloadCodec, PayloadConversionError, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

use super::CodecChain;

/// A codec that appends its letter when it encodes, and removes it when it decodes.
struct Letter(u8);

impl PayloadCodec for Letter {
    fn encode(
        &self,
        _context: &SerializationContextData,
        mut payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        for payload in &mut payloads {
            payload.data.push(self.0);
        }
        std::future::ready(Ok(payloads)).boxed()
    }

    fn decode(
        &self,
        _context: &SerializationContextData,
        mut payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let fits = payloads.iter_mut().all(|payload| payload.data.pop() == Some(self.0));
        std::future::ready(if fits { Ok(payloads) } else { Err(PayloadConversionError::WrongEncoding) }).boxed()
    }
}

#[test]
fn what_goes_out_passes_the_first_codec_first_and_what_comes_in_the_last() {
    let chain = CodecChain::new().then(Letter(b'a')).then(Letter(b'b'));
    let context = SerializationContextData::None;
    let payloads = vec![Payload { data: b"x".to_vec(), ..Payload::default() }];
    let encoded = block_on(chain.encode(&context, payloads.clone())).unwrap();
    assert_eq!(encoded[0].data, b"xab");
    assert_eq!(block_on(chain.decode(&context, encoded)).unwrap(), payloads);
    let swapped = vec![Payload { data: b"xba".to_vec(), ..Payload::default() }];
    assert!(block_on(chain.decode(&context, swapped)).is_err());
}
