//! Definitions of an agent for the model at one turn: instructions, tools, handoffs, output schema,
//! settings.
//!
//! They are sent in full when they first appear or change, and by reference afterwards
//! ([`DefinitionsPart`]). With the digest the worker proves that it sends the model what the
//! workflow meant.

use std::cell::RefCell;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, IgnoredAny},
};
use serde_json::{Map, Value};

use super::{
    by_kind::{ByKind, by_kind},
    digest::Digest,
    schema::Schema,
    settings::ModelSettings,
};

/// Definitions of an agent for the model at one turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definitions {
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// A prompt template stored at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The tools offered to the model, in the order in which the model sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The handoffs offered to the model, which sees them as tools after the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffSpec>,
    /// Shape of the final answer; absent = plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// Settings of the model call.
    #[serde(default)]
    pub settings: ModelSettings,
}

impl Definitions {
    /// Returns the definitions as JSON text, with their members in order.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("definitions are JSON by construction")
    }

    /// Returns `true` if both certainly have the same JSON text: their schemas are copies of one
    /// another, and the rest is equal. Settings and hosted tools have members whose order counts,
    /// so these must be absent or have the same text.
    pub(crate) fn has_same_json(&self, other: &Self) -> bool {
        let Self { instructions, prompt, tools, handoffs, output, settings } = self;
        *instructions == other.instructions
            && prompt.is_none()
            && other.prompt.is_none()
            && tools.len() == other.tools.len()
            && tools.iter().zip(&other.tools).all(|(one, other)| one.has_same_json(other))
            && handoffs.len() == other.handoffs.len()
            && handoffs
                .iter()
                .zip(&other.handoffs)
                .all(|(one, other)| one.input_json_schema.is_shared_with(&other.input_json_schema) && one == other)
            && match (output, &other.output) {
                (None, None) => true,
                (Some(one), Some(other)) => one.schema.is_shared_with(&other.schema) && one == other,
                _ => false,
            }
            && settings.has_same_json(&other.settings)
    }

    /// Returns the digest of these definitions. The digests of the latest definitions are cached.
    ///
    /// # Panics
    /// Never: definitions are JSON by construction.
    pub fn digest(&self) -> Digest {
        DIGEST_CACHE.with_borrow_mut(|digested| {
            // A hit moves to the end. A miss is computed and, unless its instructions are long,
            // appended in place of the oldest entry.
            if let Some(place) = digested.iter().position(|(definitions, _)| definitions == self) {
                digested[place..].rotate_left(1);
            } else {
                let value = serde_json::to_value(self).expect("definitions are JSON by construction");
                let digest = Digest::of_value(&value);
                if self.instructions.as_ref().is_some_and(|text| text.len() > MAX_CACHED_INSTRUCTIONS_BYTES) {
                    return digest;
                }
                digested.drain(..(digested.len() + 1).saturating_sub(MAX_CACHED_DIGESTS));
                digested.push((self.clone(), digest));
            }
            digested.last().map(|(_, digest)| digest.clone()).expect("the entry found or added is the last one")
        })
    }
}

thread_local! {
    /// Definitions and their digests, the most recently requested one last. The workflows of a
    /// worker share a thread, and most runs send a model the same definitions as earlier runs.
    /// Equal definitions have the same canonical JSON.
    static DIGEST_CACHE: RefCell<Vec<(Definitions, Digest)>> = const { RefCell::new(Vec::new()) };
}

/// Maximum number of definitions whose digests are cached.
const MAX_CACHED_DIGESTS: usize = 16;
/// Maximum length in bytes of instructions whose digest is cached: longer ones are most likely made
/// for one run.
const MAX_CACHED_INSTRUCTIONS_BYTES: usize = 16_384;

/// A prompt template stored at the provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Id of the template.
    pub id: String,
    /// Version of the template; absent = the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values of the template's variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
}

impl Prompt {
    /// Creates a reference to the newest version of the template with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), version: None, variables: None }
    }

    /// Sets the version of the template.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets a variable of the template.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.variables.get_or_insert_default().insert(name.into(), value.into());
        self
    }
}

/// A tool as the model sees it. The configuration of a hosted tool is data and is sent to the
/// provider unchanged. The kinds themselves are *instructions*: an unknown kind is refused together
/// with the definitions that contain it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolSpec {
    /// A function that the run executes.
    Function {
        /// Name that the model calls.
        name: String,
        /// Description of the tool for the model.
        description: String,
        /// JSON schema of the arguments; key order is kept.
        parameters: Schema,
        /// `true` if the schema fits OpenAI strict mode.
        strict: bool,
    },
    /// A tool the provider executes (web search, file search, hosted MCP, ...).
    Hosted {
        /// Name of the tool in tool choices and logs, for example `web_search`.
        name: String,
        /// The provider's own tool object, including its `type`.
        config: Map<String, Value>,
    },
}

impl ToolSpec {
    const KINDS: [&str; 2] = ["function", "hosted"];

    /// Returns `true` if both certainly have the same JSON text.
    fn has_same_json(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { parameters: one, .. }, Self::Function { parameters: another, .. }) => {
                one.is_shared_with(another) && self == other
            }
            _ => false,
        }
    }

    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name, .. } | Self::Hosted { name, .. } => name,
        }
    }
}

/// A handoff as the model sees it: a function that transfers the conversation to another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffSpec {
    /// Name of the function that the model calls, for example `transfer_to_refunds`.
    pub tool_name: String,
    /// Description of the handoff for the model.
    pub tool_description: String,
    /// JSON schema of the arguments.
    pub input_json_schema: Schema,
    /// `true` if the schema fits OpenAI strict mode.
    pub strict: bool,
    /// Name of the agent that the handoff transfers to.
    pub agent_name: String,
}

/// The shape of a final answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// Name of the schema at the provider.
    pub name: String,
    /// JSON schema, an object at its root.
    pub schema: Schema,
    /// `true` if the schema fits OpenAI strict mode.
    pub strict: bool,
}

/// Definitions in a message: in full, or as a reference to those of an earlier call. An
/// *instruction*: an unknown kind is refused.
///
/// The digest is checked when the part is read, against the JSON that arrived: members that a later
/// minor version added count for the digest, although this build ignores them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DefinitionsPart {
    /// The definitions themselves.
    Inline {
        /// Digest of the definitions.
        digest: Digest,
        /// The definitions.
        definitions: Box<Definitions>,
    },
    /// The definitions that the model call with this activity id was sent with.
    Call {
        /// Activity id of that call, in the same workflow run.
        activity_id: String,
        /// Digest of the definitions.
        digest: Digest,
    },
    /// A kind that this build does not know. Reading it succeeds, so that the version error can
    /// name the kind.
    #[serde(skip_serializing)]
    Unknown(String),
}

impl DefinitionsPart {
    /// Returns a part that contains the definitions themselves and their digest.
    pub fn inline(definitions: Definitions) -> Self {
        Self::Inline { digest: definitions.digest(), definitions: Box::new(definitions) }
    }
}

impl<'de> Deserialize<'de> for DefinitionsPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        by_kind(deserializer)
    }
}

impl ByKind for DefinitionsPart {
    fn read<'de, D: Deserializer<'de>>(kind: &str, members: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Inline {
            digest: Digest,
            definitions: Value,
        }
        #[derive(Deserialize)]
        struct Call {
            activity_id: String,
            digest: Digest,
        }
        Ok(match kind {
            "inline" => {
                let Inline { digest, definitions } = Inline::deserialize(members)?;
                inline(digest, definitions).map_err(Error::custom)?
            }
            "call" => {
                let Call { activity_id, digest } = Call::deserialize(members)?;
                Self::Call { activity_id, digest }
            }
            unknown => {
                IgnoredAny::deserialize(members)?;
                Self::Unknown(unknown.to_owned())
            }
        })
    }
}

fn inline(digest: Digest, definitions: Value) -> Result<DefinitionsPart, serde_json::Error> {
    // A digest of another algorithm cannot be checked, so the part is reported as an unknown kind.
    if let Some(algorithm) = digest.foreign_algorithm() {
        return Ok(DefinitionsPart::Unknown(format!("digest algorithm {algorithm}")));
    }
    let found = Digest::of_value(&definitions);
    if found != digest {
        return Err(Error::custom(format_args!(
            "the definitions do not match their digest: expected {digest}, found {found}"
        )));
    }
    // An unknown kind of tool is reported as an unknown instruction, not as malformed JSON.
    if let Some(kind) = unknown_tool_kind(&definitions) {
        return Ok(DefinitionsPart::Unknown(format!("tool {kind}")));
    }
    Ok(DefinitionsPart::Inline { digest, definitions: serde_json::from_value(definitions)? })
}

fn unknown_tool_kind(definitions: &Value) -> Option<&str> {
    let tools = definitions.get("tools")?.as_array()?;
    tools.iter().filter_map(|tool| tool.get("kind")?.as_str()).find(|kind| !ToolSpec::KINDS.contains(kind))
}

#[cfg(test)]
mod tests;
