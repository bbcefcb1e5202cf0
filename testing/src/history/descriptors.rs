//! The protobuf descriptors of the Temporal API version that this crate is built against.

use std::sync::LazyLock;

use prost_reflect::{DescriptorPool, MessageDescriptor};

static HISTORY: LazyLock<MessageDescriptor> = LazyLock::new(|| {
    let descriptors: &[u8] = include_bytes!(env!("TEMPORAL_DESCRIPTORS"));
    DescriptorPool::decode(descriptors)
        .expect("the descriptors were written by a protobuf compiler")
        .get_message_by_name("temporal.api.history.v1.History")
        .expect("the Temporal API has histories")
});

/// Returns the descriptor of `temporal.api.history.v1.History`; its pool contains all other
/// messages.
pub(super) fn history() -> MessageDescriptor {
    HISTORY.clone()
}
