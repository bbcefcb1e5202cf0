//! The members of a call's arguments that are commands.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::Value;

use super::{Clarity, Command, Unclear, check_variable, is_variable};

/// Members of arguments that are commands.
const MEMBERS: [&str; 4] = ["command", "cmd", "script", "commands"];

/// Members that are words of a command in another member.
const WORDS: [&str; 5] = ["args", "argv", "arguments", "argument", "params"];

/// Members that set variables.
const VARIABLES: [&str; 3] = ["env", "environment", "variables"];

/// Returns the commands in the arguments of a call: the members `command`, `cmd`, `script` and
/// `commands`, each a text for a shell, a list of texts (`commands`), or a program with its
/// arguments (any other list).
///
/// A provider may read members that differ by case, the first of two members with one name, and
/// members beside a command; with those, the commands are unclear.
pub(in crate::gate) fn commands(arguments: &str) -> Vec<Command> {
    let Ok(Members(members)) = serde_json::from_str(arguments) else { return Vec::new() };
    let mut found = Vec::new();
    let mut words = Vec::new();
    let mut clarity = Clarity::Plain;
    for (at, (member, value)) in members.iter().enumerate() {
        let name = folded(member);
        let is_other =
            || Clarity::Unclear(Unclear::new(format!("the arguments have a member {member:?} beside a command")));
        if MEMBERS.contains(&&*name) {
            let read_before = found.len();
            read(&name, value, &mut found);
            if name != *member && found.len() > read_before {
                clarity = Clarity::Unclear(Unclear::new(format!("the arguments have {member:?}; write {name:?}")));
            }
            if members[..at].iter().any(|(earlier, _)| earlier == member) {
                clarity = Clarity::Unclear(Unclear::new(format!("the arguments have {member:?} twice; write it once")));
            }
        } else if WORDS.contains(&&*name) && !is_empty(value) {
            words.extend(strings(value));
            clarity = is_other();
        } else if VARIABLES.contains(&&*name) && !is_empty(value) {
            let names = value
                .as_object()
                .map(|names| names.keys().all(|name| is_variable(name) && check_variable(name).is_ok()));
            match names {
                Some(true) if clarity == Clarity::Plain => clarity = Clarity::NotPlain,
                Some(true) => {}
                _ => clarity = is_other(),
            }
        }
    }
    for command in &mut found {
        if !words.is_empty() {
            let program = std::iter::once(&*command.text).chain(words.iter().copied());
            let with_words = Command::from_words(&program.collect::<Vec<_>>());
            command.guesses.extend(with_words.parts.into_iter().chain(with_words.guesses));
        }
        match (&command.clarity, &clarity) {
            (Clarity::Unclear(_), _) | (_, Clarity::Plain) => {}
            (_, worse) => command.clarity = worse.clone(),
        }
    }
    found
}

/// The members of an object in their order, also those with the same name.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reads)
    }
}

/// Reads a member.
fn read(name: &str, value: &Value, found: &mut Vec<Command>) {
    let unclear = |what: &str, value: &Value| {
        let words = strings(value);
        let mut command = Command::from_words(&words);
        command.guesses.append(&mut command.parts);
        command.guesses.extend(words.iter().flat_map(|text| Command::from_text(text).parts));
        command.clarity =
            Clarity::Unclear(Unclear::new(format!("{name:?} has {what}; write a text, or a list of texts")));
        command
    };
    match value {
        Value::String(text) => found.push(Command::from_text(text)),
        Value::Array(texts) if !texts.iter().all(Value::is_string) => {
            found.push(unclear("an entry that is no text", value));
        }
        Value::Array(texts) if name == "commands" => {
            found.extend(texts.iter().filter_map(Value::as_str).map(Command::from_text));
        }
        Value::Array(words) => {
            found.push(Command::from_words(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>()));
        }
        Value::Object(_) => found.push(unclear("an object", value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a name as a reader without case sees it; some of them fold two letters that are not
/// ASCII.
fn folded(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('\u{17f}', "s").replace('\u{212a}', "k")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns all texts in a value; its depth is limited by the parser of JSON.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
