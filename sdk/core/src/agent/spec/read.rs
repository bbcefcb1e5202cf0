//! A spec from JSON, with all problems of its form.
//!
//! serde stops at the first problem, and ignores unknown settings; so each member is read by
//! itself, and each element of a list.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    issue::SpecIssue,
    names::{cut, suggestion},
    values::{self, MAX_ELEMENTS, MAX_SPEC_BYTES},
};
use crate::wire::{AgentSpec, ModelSettings, WIRE_VERSION, WireVersion, agent_spec::first_spec_version};

/// The members of a spec.
pub(super) const MEMBERS: [&str; 12] = [
    "version",
    "name",
    "description",
    "model",
    "instructions",
    "settings",
    "tools",
    "hosted_tools",
    "handoffs",
    "input_guardrails",
    "output_guardrails",
    "output",
];

/// Reads the spec of the agent with this name, which the JSON may leave out.
///
/// # Errors
/// All problems that can be known without the parts; never an empty list.
pub fn read(name: &str, json: &Value) -> Result<AgentSpec, Vec<SpecIssue>> {
    let only = |member: &str, reason: String| vec![SpecIssue::member(name, member, reason)];
    let Value::Object(members) = json else { return Err(only("the spec", "must be a JSON object".to_owned())) };
    let bytes = json.to_string().len();
    if bytes > MAX_SPEC_BYTES {
        return Err(only("the spec", format!("has {bytes} bytes of JSON, the limit is {MAX_SPEC_BYTES}")));
    }
    let mut reader = Reader { agent: name, members, issues: Vec::new() };
    // A spec of another version may have other members: their problems would mislead.
    let version = reader.version().ok_or_else(|| std::mem::take(&mut reader.issues))?;
    reader.unknown_members();
    let mut spec = AgentSpec::new(name);
    spec.version = version;
    if let Some(named) = reader.member::<String>("name")
        && named != name
    {
        reader.report("name", format!("is {:?}, but the spec is stored as {name:?}; make them equal", cut(&named)));
    }
    spec.description = reader.member("description");
    spec.model = reader.member("model");
    spec.instructions = reader.member("instructions");
    spec.settings = reader.settings();
    spec.tools = reader.list("tools");
    spec.hosted_tools = reader.list("hosted_tools");
    spec.handoffs = reader.list("handoffs");
    spec.input_guardrails = reader.list("input_guardrails");
    spec.output_guardrails = reader.list("output_guardrails");
    spec.output = reader.member("output");
    let mut issues = reader.issues;
    values::check(&spec, &mut issues);
    if issues.is_empty() { Ok(spec) } else { Err(issues) }
}

struct Reader<'r> {
    agent: &'r str,
    members: &'r Map<String, Value>,
    issues: Vec<SpecIssue>,
}

impl Reader<'_> {
    fn report(&mut self, member: impl Into<String>, reason: impl Into<String>) {
        self.issues.push(SpecIssue::member(self.agent, member, reason));
    }

    /// Returns the version, if this build reads it.
    fn version(&mut self) -> Option<WireVersion> {
        let found = match self.members.get("version") {
            None => return Some(first_spec_version()),
            Some(version) => WireVersion::deserialize(version),
        };
        match found {
            Ok(found) if found.major == WIRE_VERSION.major && found <= WIRE_VERSION => return Some(found),
            Ok(found) => {
                self.issues.push(SpecIssue::Version { agent: self.agent.to_owned(), found, reads: WIRE_VERSION });
            }
            Err(error) => self.report("version", error.to_string()),
        }
        None
    }

    fn unknown_members(&mut self) {
        let unknown: Vec<&String> = self.members.keys().filter(|key| !MEMBERS.contains(&&***key)).collect();
        for key in unknown.into_iter().take(MAX_ELEMENTS) {
            let reason = match suggestion(key, MEMBERS) {
                Some(known) => format!("is unknown; did you mean {known:?}?"),
                None => format!("is unknown; the members of a spec are {}", MEMBERS.join(", ")),
            };
            self.report(cut(key), reason);
        }
    }

    fn member<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.members.get(name).filter(|value| !value.is_null())?;
        T::deserialize(value).map_err(|error| self.report(name, format!("is not valid: {error}"))).ok()
    }

    /// Returns the elements of a list that have the right shape.
    fn list<T: DeserializeOwned>(&mut self, name: &str) -> Vec<T> {
        let elements = match self.members.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(elements)) => elements,
            Some(_) => {
                self.report(name, "must be a list");
                return Vec::new();
            }
        };
        if elements.len() > MAX_ELEMENTS {
            self.report(name, format!("has {} elements, the limit is {MAX_ELEMENTS}", elements.len()));
            return Vec::new();
        }
        let mut read = Vec::with_capacity(elements.len());
        for (place, element) in elements.iter().enumerate() {
            match T::deserialize(element) {
                Ok(element) => read.push(element),
                Err(error) => self.report(format!("{name}[{place}]"), format!("is not valid: {error}")),
            }
        }
        read
    }

    /// Returns the settings, without those that are wrong or unknown.
    fn settings(&mut self) -> ModelSettings {
        let settings = match self.members.get("settings") {
            None | Some(Value::Null) => return ModelSettings::default(),
            Some(Value::Object(settings)) => settings,
            Some(_) => {
                self.report("settings", "must be a JSON object");
                return ModelSettings::default();
            }
        };
        let mut valid = Map::new();
        for (name, value) in settings.iter().filter(|(_, value)| !value.is_null()).take(MAX_ELEMENTS) {
            let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            match ModelSettings::deserialize(&alone) {
                // A setting that was read is written again.
                Ok(read) if read == ModelSettings::default() => {
                    self.report(format!("settings.{}", cut(name)), "is not a setting of model calls");
                }
                Ok(_) => {
                    valid.insert(name.clone(), value.clone());
                }
                Err(error) => self.report(format!("settings.{}", cut(name)), format!("is not valid: {error}")),
            }
        }
        ModelSettings::deserialize(Value::Object(valid)).unwrap_or_default()
    }
}
