//! The member `bounds` of a result, with names in pascal case:
//! `{"Returned": 20, "Total": 1312, "Truncated": true, "NextCursor": "c2", "RefinementHint": ""}`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use temporal_agents_core::wire::{Bounds, absent::or_default};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct BoundsMember {
    #[serde(default, deserialize_with = "or_default")]
    returned: u64,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    truncated: bool,
    #[serde(default)]
    next_cursor: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    refinement_hint: String,
}

/// Writes the member.
#[expect(clippy::ref_option, reason = "the signature is that of `serialize_with`")]
pub(super) fn serialize<S: Serializer>(bounds: &Option<Bounds>, serializer: S) -> Result<S::Ok, S::Error> {
    let member = bounds.clone().map(|bounds| {
        let Bounds { returned, total, truncated, refinement_hint, next_cursor } = bounds;
        BoundsMember { returned, total, truncated, next_cursor, refinement_hint }
    });
    member.serialize(serializer)
}

/// Reads the member.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bounds>, D::Error> {
    let member = Option::<BoundsMember>::deserialize(deserializer)?;
    Ok(member.map(|member| {
        let BoundsMember { returned, total, truncated, next_cursor, refinement_hint } = member;
        Bounds { returned, total, truncated, refinement_hint, next_cursor }
    }))
}
