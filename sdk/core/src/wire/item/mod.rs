//! One item of a conversation, in the shape of the OpenAI Responses API, kept unchanged.
//!
//! An [`Item`] is the JSON object itself (shared, so that a conversation is cheap to copy);
//! [`Item::view`] is a typed view of the kinds that the loop knows. Fields and kinds that this
//! crate does not know stay in the object and return to the provider unchanged. The type does not
//! check that an item is complete.
//!
//! # Design
//! **Items are kept unchanged.** A conversation item is the JSON object of the Responses API, with
//! a typed view of the kinds that the loop knows. Unknown items return to the provider unchanged;
//! closed enums would lose them.
//!
//! **The output of a failed tool is marked in its item,** by `is_error`, and nowhere else, because
//! items pass through sessions, pauses and continued executions unchanged. OpenAI's APIs have no
//! such member, so their provider removes it, and so do summaries of nested histories. Older
//! histories have no marks; if a deploy in the middle of a run changes references for that reason,
//! the call is sent in full.

mod view;

use std::sync::{Arc, OnceLock};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value};

pub use self::view::{FunctionCall, ItemView};
use super::{digest::ItemDigest, size::encoded_len};
use crate::wire::error_debug;

/// One conversation item; JSON shape: an object, usually with `type`.
///
/// # Source
/// The input and output items of the OpenAI Responses API.
#[derive(Clone)]
pub struct Item(Arc<Shared>);

/// The data that the copies of an item share.
struct Shared {
    object: Map<String, Value>,
    /// The kind, if it is one of [`COMMON_KINDS`].
    kind: Option<&'static str>,
    /// Index of the member `call_id`, because a whole conversation is searched for a call id at
    /// each turn.
    call_id: Option<usize>,
    /// `true` if the object has the member `created_by`.
    has_creator: bool,
    /// Digest of the item, computed once, on first use: a conversation is digested at each turn.
    digest: OnceLock<ItemDigest>,
    /// Length of the JSON text in bytes, computed once, on first use.
    json_len: OnceLock<usize>,
}

/// Maximum number of members of most items.
const TYPICAL_MEMBER_COUNT: usize = 7;

/// The kinds of most items of conversations.
const COMMON_KINDS: [&str; 4] = ["message", "function_call", "function_call_output", "reasoning"];

/// Error of JSON that is not an object, and therefore not an item.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("a conversation item must be a JSON object, found {found}")]
#[non_exhaustive]
pub struct InvalidItem {
    /// Type of the JSON value: `null`, `a string`, ...
    pub found: &'static str,
}

error_debug!(struct InvalidItem { found });

/// Placeholder for a missing id: of items that no provider made, and of items of providers that
/// return no ids.
pub const PLACEHOLDER_ID: &str = "__fake_id__";

/// Member of a function call's output that marks the call as failed. It is this crate's own: no API
/// of OpenAI gets it.
pub const IS_ERROR: &str = "is_error";

impl Item {
    /// Returns a user message: `{"role": "user", "content": TEXT}`.
    pub fn user(text: impl Into<String>) -> Self {
        Self::message("user", text)
    }

    /// Returns a message with plain text content: `{"role": ROLE, "content": TEXT}`.
    pub fn message(role: &str, text: impl Into<String>) -> Self {
        Self::from(Map::from_iter([
            ("role".to_owned(), role.into()),
            ("content".to_owned(), Value::String(text.into())),
        ]))
    }

    /// Returns an assistant's message in the shape of a model's answer, with a placeholder for its
    /// id.
    pub fn assistant(text: &str) -> Self {
        let part = serde_json::json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        Self::from(Map::from_iter([
            ("id".to_owned(), PLACEHOLDER_ID.into()),
            ("type".to_owned(), "message".into()),
            ("role".to_owned(), "assistant".into()),
            ("status".to_owned(), "completed".into()),
            ("content".to_owned(), Value::Array(vec![part])),
        ]))
    }

    /// Returns a function call, as a model makes it. `arguments` is the string of the model:
    /// a JSON object, unless it made a mistake.
    pub fn function_call(call_id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::from(Map::from_iter([
            ("type".to_owned(), "function_call".into()),
            ("call_id".to_owned(), Value::String(call_id.into())),
            ("name".to_owned(), Value::String(name.into())),
            ("arguments".to_owned(), Value::String(arguments.into())),
        ]))
    }

    /// Returns the output of a function call; `output` is a string or a list of content parts.
    pub fn function_call_output(call_id: &str, output: Value) -> Self {
        Self::from(Map::from_iter([
            ("type".to_owned(), "function_call_output".into()),
            ("call_id".to_owned(), call_id.into()),
            ("output".to_owned(), output),
        ]))
    }

    /// Returns the output of a failed function call: the message for the model. Providers whose API
    /// distinguishes errors from outputs, such as Anthropic's, mark it as an error; others send the
    /// output alone.
    pub fn failed_function_call_output(call_id: &str, output: Value) -> Self {
        Self::function_call_output(call_id, output).with(IS_ERROR, Value::Bool(true))
    }

    /// Returns `true` if this is the output of a call that failed.
    pub fn is_tool_error(&self) -> bool {
        self.get(IS_ERROR).is_some_and(|is_error| *is_error == true)
    }

    /// Returns the item's `type`. An item without one is a `message` if it has a role; otherwise
    /// its kind is empty.
    pub fn kind(&self) -> &str {
        if let Some(kind) = self.0.kind {
            return kind;
        }
        match self.str("type") {
            Some(kind) => kind,
            None if self.get("role").is_some() => "message",
            None => "",
        }
    }

    /// Returns the `type` of the output that the run itself adds to a call; `None` for any other item.
    #[doc(hidden)]
    pub fn output_kind(&self) -> Option<&'static str> {
        Self::OUTPUTS.into_iter().find(|(call, _)| *call == self.kind()).map(|(_, output)| output)
    }

    /// Returns the `type` of this item if it is the output of a call, as
    /// [`output_kind`](Self::output_kind) names it.
    #[doc(hidden)]
    pub fn as_output_kind(&self) -> Option<&'static str> {
        Self::OUTPUTS.into_iter().map(|(_, output)| output).find(|output| *output == self.kind())
    }

    /// The kinds of calls that the run itself answers, with the kinds of their outputs.
    const OUTPUTS: [(&'static str, &'static str); 8] = [
        ("function_call", "function_call_output"),
        ("computer_call", "computer_call_output"),
        ("custom_tool_call", "custom_tool_call_output"),
        ("local_shell_call", "local_shell_call_output"),
        ("shell_call", "shell_call_output"),
        ("apply_patch_call", "apply_patch_call_output"),
        ("tool_search_call", "tool_search_output"),
        ("program", "program_output"),
    ];

    /// Returns the item's own id, if it has one.
    pub fn id(&self) -> Option<&str> {
        self.str("id")
    }

    /// Returns the id of the call that this item makes or answers.
    pub fn call_id(&self) -> Option<&str> {
        self.0.object.values().nth(self.0.call_id?)?.as_str()
    }

    /// Returns a member of the object.
    pub fn get(&self, member: &str) -> Option<&Value> {
        self::member(&self.0.object, member)
    }

    /// Returns the whole object, unchanged.
    pub fn as_object(&self) -> &Map<String, Value> {
        &self.0.object
    }

    /// Returns the item as a JSON value (a copy).
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.object.clone())
    }

    /// Returns a copy of this item with one member set.
    #[must_use]
    pub fn with(&self, member: &str, value: Value) -> Self {
        let mut map = self.0.object.clone();
        map.insert(member.to_owned(), value);
        Self::from(map)
    }

    /// Returns the item in the form in which a model gets it again: without the member
    /// `created_by`, which providers write and do not read.
    pub(crate) fn without_creator(&self) -> Self {
        if self.0.has_creator { self.without("created_by") } else { self.clone() }
    }

    /// Returns a copy of this item without one member; the others keep their order.
    #[must_use]
    pub fn without(&self, member: &str) -> Self {
        if self.get(member).is_none() {
            return self.clone();
        }
        let mut map = self.0.object.clone();
        map.shift_remove(member);
        Self::from(map)
    }

    /// Returns the digest of the item; computed once for all copies.
    #[doc(hidden)]
    pub fn digest(&self) -> ItemDigest {
        *self.0.digest.get_or_init(|| ItemDigest::of(&self.0.object))
    }

    /// Returns the item as JSON text, with its members in their order.
    ///
    /// # Panics
    /// Never: an item is JSON by construction.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.0.object).expect("an item is JSON by construction")
    }

    /// Returns the length of its JSON text in bytes; computed once for all copies.
    ///
    /// # Panics
    /// Never: an item is JSON by construction.
    pub fn json_len(&self) -> usize {
        *self.0.json_len.get_or_init(|| encoded_len(&self.0.object).expect("an item is JSON by construction"))
    }

    /// Returns `true` if both are copies of one item.
    #[doc(hidden)]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns `true` if both have the same JSON text, including the order of members.
    pub(crate) fn has_same_json(&self, other: &Self) -> bool {
        same_members(&self.0.object, &other.0.object)
    }

    fn str(&self, member: &str) -> Option<&str> {
        self.get(member).and_then(Value::as_str)
    }
}

/// Returns a member of an object. An item has few members: comparing each is faster than hashing.
fn member<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    object.iter().find_map(|(member, value)| (member == name).then_some(value))
}

fn same_members(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let same = |((name, one), (other_name, other))| name == other_name && same_text(one, other);
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn same_text(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => same_members(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_text(one, other))
        }
        // Zero and minus zero are equal, but do not have the same text.
        (Value::Number(one), Value::Number(other)) => one.to_string() == other.to_string(),
        (one, other) => one == other,
    }
}

impl TryFrom<Value> for Item {
    type Error = InvalidItem;

    fn try_from(value: Value) -> Result<Self, InvalidItem> {
        let found = match value {
            Value::Object(map) => return Ok(Self::from(map)),
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
        };
        Err(InvalidItem { found })
    }
}

impl From<Map<String, Value>> for Item {
    fn from(map: Map<String, Value>) -> Self {
        let (mut kind, mut call_id, mut has_creator) = (None, None, false);
        // One pass finds the members that are looked up for whole conversations.
        for (place, (name, value)) in map.iter().enumerate() {
            match &**name {
                "type" => kind = COMMON_KINDS.into_iter().find(|common| value == common),
                "call_id" => call_id = Some(place),
                "created_by" => has_creator = true,
                _ => {}
            }
        }
        let (digest, json_len) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Shared { object: map, kind, call_id, has_creator, digest, json_len }))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.object == other.0.object
    }
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match serde_json::to_string(&self.0.object) {
            Ok(json) => write!(f, "Item({json})"),
            Err(_) => f.write_str("Item(..)"),
        }
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.object.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Reads the members into a map with the capacity that most items need, so that it does not
        /// grow member by member.
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Item;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Item, A::Error> {
                let mut object = Map::with_capacity(members.size_hint().unwrap_or(TYPICAL_MEMBER_COUNT));
                while let Some((name, value)) = members.next_entry()? {
                    object.insert(name, value);
                }
                if object.len() <= TYPICAL_MEMBER_COUNT / 2 {
                    // Items live long: a message of a user, with two members, would take three
                    // times its memory.
                    object = Map::from_iter(object);
                }
                Ok(Item::from(object))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
