//! A toolset as it is registered, and the checks of a registration.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::{
    tool::schema,
    wire::{RemoteTool, absent},
};

use super::limits::{MAX_BYTES, MAX_DESCRIPTION_BYTES, MAX_NAME, MAX_TAG, MAX_TAGS, MAX_TOOLS};
use crate::remote::transport::StreamError;

/// Most characters of a name that an error repeats.
const SHOWN: usize = 100;

/// A toolset, as its providers describe it.
///
/// JSON: `{"name": "files", "description": "..", "version": "1.2.0", "tags": [".."], "tools":
/// [..]}`, with tools in the form of [`RemoteTool`]. Members that this release does not know are
/// ignored, and `null` counts as absent.
///
/// A registration is refused unless the version is a semantic version, the names have 1 to 128
/// characters without spaces, control characters and `*?[]`, each tool has a name of its own, and
/// its schemas are JSON objects. Limits: 256 tools, 32 tags of 64 characters, 16 KiB for each
/// description, 64 KiB for each schema, and 256 KiB of JSON for all.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{remote::gateway::Toolset, wire::RemoteTool};
///
/// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
/// let toolset = Toolset::new("files", "1.2.0")
///     .description("Reads files of the project.")
///     .tags(["project"])
///     .tools([RemoteTool::new("read", "Reads a file.", schema)]);
/// assert_eq!(toolset.tools[0].name, "read");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Toolset {
    /// Name of the toolset, which names its request stream: `toolset:<name>:requests`.
    pub name: String,
    /// Description of the toolset, for searches.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Version of the toolset: a semantic version, for example `1.2.0`.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub version: String,
    /// Tags, by which a catalogue is listed and searched.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The tools.
    #[serde(default, deserialize_with = "absent::list_or_null")]
    pub tools: Vec<RemoteTool>,
    /// Time of the last registration, RFC 3339, by the clock of the broker. A gateway sets it; that
    /// of a provider is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<String>,
}

/// The error of a toolset that is not registered.
///
/// # Retries
/// The same registration is refused again, except [`Unpublished`](Self::Unpublished), which may
/// pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The toolset itself is refused.
    #[error("toolset {toolset:?} cannot be registered: {problem}")]
    Toolset {
        /// Name of the toolset.
        toolset: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// One of its tools is refused, and the toolset with it.
    #[error("toolset {toolset:?} cannot be registered with its tool {tool:?}: {problem}")]
    Tool {
        /// Name of the toolset.
        toolset: String,
        /// Name of the tool.
        tool: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// The registration could not be published.
    #[error("the registration of toolset {toolset:?} could not be published")]
    Unpublished {
        /// Name of the toolset.
        toolset: String,
        /// The error of the stream.
        source: StreamError,
    },
}

impl Toolset {
    /// Creates a toolset without tools, of this semantic version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            version: version.into(),
            tags: Vec::new(),
            tools: Vec::new(),
            registered_at: None,
        }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Adds tags.
    #[must_use]
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(tags.into_iter().map(Into::into));
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = RemoteTool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Returns the tool of this name, which may begin with that of the toolset and a dot.
    pub(super) fn tool(&self, name: &str) -> Option<&RemoteTool> {
        let own_name = name.strip_prefix(&*self.name).and_then(|rest| rest.strip_prefix('.'));
        let named = |name: &str| self.tools.iter().find(|tool| tool.name == name);
        named(name).or_else(|| named(own_name?))
    }

    /// Checks that the toolset can be registered.
    pub(crate) fn check(&self) -> Result<(), RegistrationError> {
        let refused = |problem| RegistrationError::Toolset { toolset: shown(&self.name), problem };
        self.own_problem().map_or(Ok(()), |problem| Err(refused(problem)))?;
        let mut names = BTreeSet::new();
        for tool in &self.tools {
            let doubled = || String::from("another tool has the same name; name each tool once");
            let problem = problem_of(tool).or_else(|| (!names.insert(&*tool.name)).then(doubled));
            if let Some(problem) = problem {
                let (toolset, tool) = (shown(&self.name), shown(&tool.name));
                return Err(RegistrationError::Tool { toolset, tool, problem });
            }
        }
        let bytes = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        let too_long = || refused(format!("it has {bytes} bytes as JSON, the limit is {MAX_BYTES}; split it"));
        if bytes > MAX_BYTES { Err(too_long()) } else { Ok(()) }
    }

    /// Returns the problem of the toolset apart from its tools.
    fn own_problem(&self) -> Option<String> {
        let of_version = || {
            let error = semver::Version::parse(&self.version).err()?;
            Some(format!(
                "its version {:?} is not a semantic version ({error}); write it as in \"1.2.0\"",
                shown(&self.version)
            ))
        };
        let of_tools = || match self.tools.len() {
            0 => Some(String::from("it has no tools; describe at least one")),
            1..=MAX_TOOLS => None,
            tools => Some(format!("it has {tools} tools, the limit is {MAX_TOOLS}; split it")),
        };
        of_name(&self.name)
            .or_else(of_version)
            .or_else(|| of_description(&self.description))
            .or_else(|| of_tags(&self.tags))
            .or_else(of_tools)
    }
}

/// Returns the problem of a tool.
fn problem_of(tool: &RemoteTool) -> Option<String> {
    let of_schema = |member: &str, schema: &Value| {
        if !schema.is_object() {
            return Some(format!("its {member} is not a JSON object; describe the value in JSON Schema"));
        }
        let too_large = schema::measure(schema).err()?;
        let schema::TooLarge { what, found, most } = too_large;
        Some(format!("its {member} has {found} {what}, the limit is {most}; describe it with a smaller schema"))
    };
    of_name(&tool.name)
        .or_else(|| of_description(&tool.description))
        .or_else(|| of_tags(&tool.tags))
        .or_else(|| of_schema("payload_schema", &tool.payload_schema))
        .or_else(|| of_schema("result_schema", tool.result_schema.as_deref()?))
}

fn of_name(name: &str) -> Option<String> {
    let is_allowed = |c: char| !c.is_whitespace() && !c.is_control() && !"*?[]".contains(c);
    let is_name = (1..=MAX_NAME).contains(&name.chars().count()) && name.chars().all(is_allowed);
    let rule = || format!("use a name of 1 to {MAX_NAME} characters without spaces, control characters and \"*?[]\"");
    (!is_name).then(rule)
}

fn of_description(description: &str) -> Option<String> {
    let bytes = description.len();
    let rule = || format!("its description has {bytes} bytes, the limit is {MAX_DESCRIPTION_BYTES}; shorten it");
    (bytes > MAX_DESCRIPTION_BYTES).then(rule)
}

fn of_tags(tags: &[String]) -> Option<String> {
    let is_tag = |tag: &String| (1..=MAX_TAG).contains(&tag.chars().count());
    let rule = || format!("use at most {MAX_TAGS} tags of 1 to {MAX_TAG} characters");
    (tags.len() > MAX_TAGS || !tags.iter().all(is_tag)).then(rule)
}

/// Returns the beginning of a name, for an error.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(SHOWN).collect()
}
