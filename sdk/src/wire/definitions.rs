//! What an agent is to a model at one turn: instructions, tools, handoffs, output schema, settings.
//!
//! Sent whole when they first appear or change, and referred to afterwards ([`DefinitionsPart`]); the digest lets
//! the worker prove that it sends the model what the workflow meant.

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

/// What an agent is to a model at one turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definitions {
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// A prompt template stored at the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Prompt>,
    /// The tools on offer, in the order in which the model sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
    /// The handoffs on offer; the model sees them as tools after the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandoffSpec>,
    /// The shape of the final answer; absent = plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// How the model is asked.
    #[serde(default)]
    pub settings: ModelSettings,
}

impl Definitions {
    /// The definitions as JSON text, members in their order.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("definitions are JSON by construction")
    }

    /// Whether the two are surely the same text: their schemas are copies of one another, and the rest is equal. Settings and
    /// hosted tools have members whose order counts, so those must be absent or the same text, too.
    pub(crate) fn is_same_text(&self, other: &Self) -> bool {
        let Self { instructions, prompt, tools, handoffs, output, settings } = self;
        *instructions == other.instructions
            && prompt.is_none()
            && other.prompt.is_none()
            && tools.len() == other.tools.len()
            && tools.iter().zip(&other.tools).all(|(one, other)| one.is_same_text(other))
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
            && settings.is_same_text(&other.settings)
    }

    /// The digest of these definitions; those of the latest are remembered.
    ///
    /// # Panics
    /// Never: definitions are JSON by construction.
    pub fn digest(&self) -> Digest {
        DIGESTED.with_borrow_mut(|digested| {
            if let Some(place) = digested.iter().position(|(definitions, _)| definitions == self) {
                digested[place..].rotate_left(1);
            } else {
                let value = serde_json::to_value(self).expect("definitions are JSON by construction");
                let digest = Digest::of_value(&value);
                if self.instructions.as_ref().is_some_and(|text| text.len() > LONG_INSTRUCTIONS) {
                    return digest;
                }
                digested.drain(..(digested.len() + 1).saturating_sub(DIGESTED_AT_MOST));
                digested.push((self.clone(), digest));
            }
            digested.last().map(|(_, digest)| digest.clone()).expect("what was looked for is the last")
        })
    }
}

thread_local! {
    /// Definitions and their digests, the one that was asked for last at the end. The workflows of a worker share a thread, and most runs give a model
    /// what the runs before gave it. Equal definitions have the same canonical JSON.
    static DIGESTED: RefCell<Vec<(Definitions, Digest)>> = const { RefCell::new(Vec::new()) };
}

/// Most definitions whose digests are remembered.
const DIGESTED_AT_MOST: usize = 16;
/// Instructions of more bytes are most likely made for one run, and are not kept for others.
const LONG_INSTRUCTIONS: usize = 16_384;

/// A prompt template stored at the provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The template's id.
    pub id: String,
    /// Its version; absent = the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The values of its variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Map<String, Value>>,
}

/// A tool as the model sees it. A hosted tool's configuration is data, it goes to the provider as it is; the kinds
/// themselves are *instructions*: one that is not known is refused with the definitions it is part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolSpec {
    /// A function the run executes.
    Function {
        /// The name the model calls.
        name: String,
        /// What it does, for the model.
        description: String,
        /// The JSON schema of its arguments; key order is kept.
        parameters: Schema,
        /// Whether the schema fits OpenAI strict mode.
        strict: bool,
    },
    /// A tool the provider executes (web search, file search, hosted MCP, ...).
    Hosted {
        /// Its name in tool choices and logs, for example `web_search`.
        name: String,
        /// The provider's own tool object, with its `type`.
        config: Map<String, Value>,
    },
}

impl ToolSpec {
    const KINDS: [&str; 2] = ["function", "hosted"];

    /// Whether the two are surely the same text.
    fn is_same_text(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Function { parameters: one, .. }, Self::Function { parameters: another, .. }) => {
                one.is_shared_with(another) && self == other
            }
            _ => false,
        }
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name, .. } | Self::Hosted { name, .. } => name,
        }
    }
}

/// A handoff as the model sees it: a function that transfers the conversation to another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandoffSpec {
    /// The function name the model calls, for example `transfer_to_refunds`.
    pub tool_name: String,
    /// What it is for, for the model.
    pub tool_description: String,
    /// The JSON schema of its arguments.
    pub input_json_schema: Schema,
    /// Whether the schema fits OpenAI strict mode.
    pub strict: bool,
    /// The agent it leads to.
    pub agent_name: String,
}

/// The shape of a final answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The schema's name at the provider.
    pub name: String,
    /// The JSON schema, an object at its root.
    pub schema: Schema,
    /// Whether the schema fits OpenAI strict mode.
    pub strict: bool,
}

/// Definitions in a message: whole, or as those of an earlier call. An *instruction*: an unknown kind is refused.
///
/// The digest is checked when the part is read, against the JSON that arrived: members that a later minor version added
/// count for the digest, though this build leaves them out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DefinitionsPart {
    /// The definitions themselves.
    Inline {
        /// Their digest.
        digest: Digest,
        /// The definitions.
        definitions: Box<Definitions>,
    },
    /// Those that the model call with this activity id was given.
    Call {
        /// The activity id of that call, in the same workflow run.
        activity_id: String,
        /// Their digest.
        digest: Digest,
    },
    /// A kind this build does not know; reading it succeeds so that the version error can name it.
    #[serde(skip_serializing)]
    Unknown(String),
}

impl DefinitionsPart {
    /// The definitions themselves, with their digest.
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
    if let Some(algorithm) = digest.foreign_algorithm() {
        return Ok(DefinitionsPart::Unknown(format!("digest algorithm {algorithm}")));
    }
    let found = Digest::of_value(&definitions);
    if found != digest {
        return Err(Error::custom(format_args!(
            "the definitions do not match their digest: expected {digest}, found {found}"
        )));
    }
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
