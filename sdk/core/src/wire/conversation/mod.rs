//! The input of a model call on the wire: a list of segments with the count and digest of all
//! items.
//!
//! A segment is either items, or a reference to items that history already contains: the input or
//! output of an earlier call of this workflow run, or the result of a tool activity. `ledger/`
//! writes the segments; the worker reads them.

mod ledger;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny},
};
use serde_json::Value;

pub use ledger::{Folded, Ledger, Noted};

use super::{
    absent::is_default,
    by_kind::{ByKind, by_kind},
    digest::Digest,
    item::Item,
    version::{WIRE_VERSION, WireVersion},
};

// References determine how large a request is, and a request that is too large is not scheduled: a
// change here is a change of a rule (see CONTRIBUTING.md).

/// Maximum size of a tool's result, in bytes of JSON, that is repeated instead of referred to: a
/// reference is about as long.
pub const WORTH_A_REFERENCE: usize = 256;

/// The input of a model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The segments, in the order of their items.
    pub segments: Vec<InputSegment>,
    /// Total number of items in the segments.
    pub count: u32,
    /// The digest of all the items.
    pub digest: Digest,
}

/// A part of a model call's input. An *instruction*: an unknown kind is refused.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InputSegment {
    /// The items themselves.
    Items {
        /// The items.
        items: Vec<Item>,
    },
    /// Items of the input and the output of an earlier model call of this workflow run, followed by
    /// outputs of its tools.
    Call {
        /// Activity id of that call.
        activity_id: String,
        /// The input or the output of that call; absent = both, the output after the input. Written
        /// by 1.0 only.
        #[serde(skip_serializing_if = "Option::is_none")]
        part: Option<CallPart>,
        /// Index of the first item, counted from 0; absent = 0.
        #[serde(skip_serializing_if = "is_default")]
        start: u32,
        /// Index after the last item.
        end: u32,
        /// Number of tool outputs that follow: those of the activity tools that the answer called,
        /// from the first one on (see [`tool_activity_of`]); absent = 0.
        #[serde(skip_serializing_if = "is_default")]
        results: u32,
    },
    /// Items that were recorded by an activity of their own, because together they were too large
    /// for the call: see [`RecordRequest`].
    Recorded {
        /// Activity id of that recording.
        activity_id: String,
        /// Index of the first item, counted from 0.
        start: u32,
        /// Index after the last item.
        end: u32,
    },
    /// Items of the state with which this workflow run began and which it has loaded from the
    /// previous run, in the order of
    /// [`RunState::items_in_order`](crate::wire::RunState::items_in_order).
    State {
        /// Prefix of the activity ids of the chunks; a `-` and a number, counted from 0, follow.
        activity_id: String,
        /// Number of chunks.
        chunks: u32,
        /// Index of the first item, counted from 0.
        start: u32,
        /// Index after the last item.
        end: u32,
    },
    /// The output item of a tool activity of this workflow run.
    ToolResult {
        /// Activity id of that tool call.
        activity_id: String,
    },
    /// A kind that this build does not know. Reading it succeeds, so that the version error can
    /// name the kind.
    #[serde(skip_serializing)]
    Unknown(String),
}

/// Returns the activity id of the `number`th tool call (counted from 0) in the answer of a model
/// call, if that tool call is an activity; ids are a part of the contract.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::wire::conversation::tool_activity_of;
///
/// assert_eq!(tool_activity_of("k3x9q2ab-4-model", 1).as_deref(), Some("k3x9q2ab-4-tool-1"));
/// assert_eq!(tool_activity_of("k3x9q2ab-4-model-full", 0).as_deref(), Some("k3x9q2ab-4-tool-0"));
/// ```
pub fn tool_activity_of(model_activity: &str, number: u32) -> Option<String> {
    let (turn, _) = model_activity.rsplit_once("-model")?;
    Some(format!("{turn}-tool-{number}"))
}

/// The input or the output of a model call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPart {
    /// The input of the call.
    Given,
    /// The output of the call.
    Answered,
}

/// Type of the activity that records items which are too large to be sent with a call.
pub const RECORD_ACTIVITY: &str = "agents.record_items";

/// The input of an activity that does nothing; its purpose is that history contains the items from
/// then on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The items.
    pub items: Vec<Item>,
}

impl From<Vec<Item>> for RecordRequest {
    fn from(items: Vec<Item>) -> Self {
        Self { version: WIRE_VERSION, items }
    }
}

impl InputSegment {
    /// Returns `true` if the segment refers to items in history.
    pub fn refers(&self) -> bool {
        match self {
            Self::Call { .. } | Self::Recorded { .. } | Self::State { .. } | Self::ToolResult { .. } => true,
            Self::Items { .. } | Self::Unknown(_) => false,
        }
    }
}

impl CallPart {
    fn is_known(name: &str) -> bool {
        matches!(name, "given" | "answered")
    }
}

impl Conversation {
    /// Returns a conversation that contains all its items itself.
    ///
    /// # Panics
    /// With 2^32 items or more.
    pub fn of_items(items: Vec<Item>) -> Self {
        let digest = Digest::of_conversation(&items);
        let count = u32::try_from(items.len()).expect("a conversation has fewer than 2^32 items");
        Self { segments: vec![InputSegment::Items { items }], count, digest }
    }
}

impl<'de> Deserialize<'de> for InputSegment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_kind(deserializer)
    }
}

impl ByKind for InputSegment {
    fn read<'de, D: Deserializer<'de>>(kind: &str, members: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Items {
            items: Vec<Item>,
        }
        /// Each member may have any value, since an unknown part may need other values.
        #[derive(Deserialize)]
        struct Call {
            activity_id: Option<Value>,
            part: Option<Value>,
            start: Option<Value>,
            end: Option<Value>,
            results: Option<Value>,
        }
        #[derive(Deserialize)]
        struct Recorded {
            activity_id: String,
            start: u32,
            end: u32,
        }
        #[derive(Deserialize)]
        struct State {
            activity_id: String,
            chunks: u32,
            start: u32,
            end: u32,
        }
        #[derive(Deserialize)]
        struct ToolResult {
            activity_id: String,
        }
        Ok(match kind {
            "items" => {
                let Items { items } = Items::deserialize(members)?;
                Self::Items { items }
            }
            "call" => {
                let Call { activity_id, part, start, end, results } = Call::deserialize(members)?;
                // An unknown part is reported as an unknown instruction, not as malformed JSON.
                if let Some(part) = part.as_ref().and_then(Value::as_str).filter(|part| !CallPart::is_known(part)) {
                    return Ok(Self::Unknown(format!("call part {part}")));
                }
                let number = |value: Option<Value>| value.map_or(Ok(0), u32::deserialize).map_err(D::Error::custom);
                Self::Call {
                    activity_id: match activity_id.ok_or_else(|| D::Error::missing_field("activity_id"))? {
                        Value::String(activity_id) => activity_id,
                        other => String::deserialize(other).map_err(D::Error::custom)?,
                    },
                    part: part.map(CallPart::deserialize).transpose().map_err(D::Error::custom)?,
                    start: number(start)?,
                    end: number(Some(end.ok_or_else(|| D::Error::missing_field("end"))?))?,
                    results: number(results)?,
                }
            }
            "recorded" => {
                let Recorded { activity_id, start, end } = Recorded::deserialize(members)?;
                Self::Recorded { activity_id, start, end }
            }
            "state" => {
                let State { activity_id, chunks, start, end } = State::deserialize(members)?;
                Self::State { activity_id, chunks, start, end }
            }
            "tool_result" => {
                let ToolResult { activity_id } = ToolResult::deserialize(members)?;
                Self::ToolResult { activity_id }
            }
            unknown => {
                IgnoredAny::deserialize(members)?;
                Self::Unknown(unknown.to_owned())
            }
        })
    }
}
