//! The definitions that history contains: in full while a run uses them, otherwise by their digest.

use std::{cell::OnceCell, rc::Rc};

use sha2::{Digest as _, Sha256};

use super::Ledger;
use crate::wire::{Definitions, definitions::DefinitionsPart, digest::Digest};

/// Maximum number of remembered definitions: agents may take turns, and their tools may change from
/// turn to turn.
pub(super) const MAX_DEFINITIONS: usize = 32;

/// Definitions, and the activity whose request contains them in history.
#[derive(Clone, Debug)]
pub(super) struct DefinitionsEntry {
    activity_id: Rc<str>,
    digest: Digest,
    text: DefinitionsText,
}

/// The definitions of an entry, of which calls are compared with the JSON text: the order of schema
/// members reaches the model, and the digest of the entry does not depend on it.
#[derive(Clone, Debug)]
enum DefinitionsText {
    /// The definitions, and their JSON text, computed when first needed.
    Awake { definitions: Box<Definitions>, json: OnceCell<String> },
    /// The SHA-256 of the JSON text, while no run needs the definitions: instructions and schemas
    /// are large, and the agents have them.
    Resting([u8; 32]),
}

impl DefinitionsEntry {
    /// Returns the definitions as a reference to history.
    pub(super) fn reference(&self) -> DefinitionsPart {
        DefinitionsPart::Call { activity_id: self.activity_id.to_string(), digest: self.digest.clone() }
    }

    /// Returns what the ledger has to record once a call with these definitions is answered, if it
    /// has only their digest.
    pub(super) fn to_wake(&self, definitions: &Definitions) -> Option<(Digest, Box<Definitions>)> {
        let is_resting = matches!(self.text, DefinitionsText::Resting(_));
        is_resting.then(|| (self.digest.clone(), Box::new(definitions.clone())))
    }

    /// Drops the definitions, except for their digest.
    pub(super) fn rest(&mut self) {
        if let DefinitionsText::Awake { definitions, json } = &self.text {
            let digest = hash(json.get_or_init(|| definitions.json()));
            self.text = DefinitionsText::Resting(digest);
        }
    }

    fn is_surely(&self, other: &Definitions) -> bool {
        matches!(&self.text, DefinitionsText::Awake { definitions, .. } if definitions.has_same_json(other))
    }

    fn has_text(&self, text: &str, digest: &OnceCell<[u8; 32]>) -> bool {
        match &self.text {
            DefinitionsText::Awake { definitions, json } => *json.get_or_init(|| definitions.json()) == text,
            DefinitionsText::Resting(resting) => digest.get_or_init(|| hash(text)) == resting,
        }
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Ledger {
    /// Forgets all definitions, because they differ from those that were sent.
    pub fn forget_definitions(&mut self) {
        self.definitions.clear();
    }

    /// Returns the entry of these definitions.
    pub(super) fn defined(&self, definitions: &Definitions) -> Option<&DefinitionsEntry> {
        self.place_of_definitions(definitions).map(|place| &self.definitions[place])
    }

    /// Records definitions that a call was sent with. Those that the ledger knows stay where they
    /// are in history.
    pub(super) fn define(&mut self, activity_id: &Rc<str>, digest: Digest, definitions: Box<Definitions>) {
        let place = self.place_of_definitions(&definitions);
        let text = DefinitionsText::Awake { definitions, json: OnceCell::new() };
        if let Some(place) = place {
            self.definitions[place].text = text;
            return;
        }
        if self.definitions.len() == MAX_DEFINITIONS {
            self.definitions.pop_front();
        }
        self.definitions.push_back(DefinitionsEntry { activity_id: Rc::clone(activity_id), digest, text });
    }

    /// Returns the place of the latest entry with the same JSON text.
    fn place_of_definitions(&self, definitions: &Definitions) -> Option<usize> {
        // Comparing the texts is expensive, so it is done only if no entry is certain to have the
        // same text.
        let surely = |entry: &DefinitionsEntry| entry.is_surely(definitions);
        if let Some(place) = self.definitions.iter().rposition(surely) {
            return Some(place);
        }
        if self.definitions.is_empty() {
            return None;
        }
        let (json, digest) = (definitions.json(), OnceCell::new());
        self.definitions.iter().rposition(|entry| entry.has_text(&json, &digest))
    }
}
