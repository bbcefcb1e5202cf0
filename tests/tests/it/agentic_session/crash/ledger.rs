//! What sessions have begun, noted in a file as it begins: it outlives the process that is killed.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

/// The file.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) path: PathBuf,
}

/// One line of it: something has begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Begun {
    /// The attempt of the activity.
    pub(super) attempt: u32,
    pub(super) turn: u32,
    /// `model`, or a tool with its arguments.
    pub(super) what: String,
    /// The idempotency key of a tool's call.
    pub(super) key: Option<String>,
}

impl Ledger {
    pub(super) fn note(&self, begun: &Begun) -> io::Result<()> {
        let mut line = serde_json::to_string(begun)?;
        line.push('\n');
        // One write, which is in the hands of the system when it returns.
        File::options().append(true).create(true).open(&self.path)?.write_all(line.as_bytes())
    }

    pub(super) fn lines(&self) -> anyhow::Result<Vec<Begun>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        // A line that is being written has no end yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        Ok(whole.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    }

    /// What an attempt has begun: `<turn> <what>`, sorted, for tools of one turn begin side by side.
    pub(super) fn of_attempt(&self, attempt: u32) -> anyhow::Result<Vec<String>> {
        let lines = self.lines()?.into_iter().filter(|line| line.attempt == attempt);
        let mut begun: Vec<String> = lines.map(|Begun { turn, what, .. }| format!("{turn} {what}")).collect();
        begun.sort();
        Ok(begun)
    }

    /// The keys that each call of a tool was made with.
    pub(super) fn keys(&self) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
        let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Begun { turn, what, key, .. } in self.lines()? {
            keys.entry(format!("{turn} {what}")).or_default().extend(key);
        }
        keys.retain(|_, keys| !keys.is_empty());
        Ok(keys)
    }
}
