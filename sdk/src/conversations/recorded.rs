//! An entire history in memory, and the calls of the model requests in it.
//!
//! Pure: it has no I/O. It assembles and checks a call in the same way as a worker that remembers
//! nothing, so that the result is the call that the provider received.
//!
//! # Design
//! **A transcript is assembled by the code that workers use.** References are resolved and digests
//! checked with the same `Pending` and `Wanted` as in a worker that reads history, so
//! `Transcript::request_of` cannot show a different request from the one that the provider
//! received. The *new* items of a call are found by content, per run: the form in which a request
//! was sent (references, or in full after a deploy) is not visible.

use std::{collections::HashMap, sync::Arc};

use temporal_agents_core::wire::{
    Definitions, InputSegment, Item, ModelCall, ModelRequest, definitions::DefinitionsPart, model_call::UnfoldError,
};

use super::{
    ReadError, Unavailable,
    history::{HistoryError, MissingDefinitions},
    pending::Pending,
    states::States,
    wanted::Wanted,
};

/// The requests and results of a workflow run's activities.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    /// The activities by id, in the order in which they were scheduled.
    activities: Vec<(String, Exchange)>,
    places: HashMap<String, usize>,
}

/// The error of an incomplete call, with the parts that were found.
#[derive(Debug)]
pub(crate) struct NotWhole {
    pub(crate) error: ReadError,
    pub(crate) input: Vec<Item>,
    pub(crate) definitions: Arc<Definitions>,
}

#[derive(Clone, Debug)]
enum Exchange {
    Model {
        request: Box<ModelRequest>,
        answered: Vec<Item>,
    },
    Tool(Item),
    /// Items that an activity has recorded.
    Items(Vec<Item>),
    /// A part of the JSON of a state that was loaded.
    Chunk(String),
}

impl Recorded {
    /// Adds a model call with its request and its output; the output is empty when the call failed.
    pub(crate) fn model(&mut self, activity_id: &str, request: Box<ModelRequest>, answered: Vec<Item>) {
        self.add(activity_id, Exchange::Model { request, answered });
    }

    /// Sets the output of a model call that was added before it had one.
    pub(crate) fn answered(&mut self, activity_id: &str, output: &[Item]) {
        let activity = self.places.get(activity_id).and_then(|place| self.activities.get_mut(*place));
        if let Some((_, Exchange::Model { answered, .. })) = activity {
            *answered = output.to_vec();
        }
    }

    /// Adds the result of a tool activity.
    pub(crate) fn tool(&mut self, activity_id: &str, item: Item) {
        self.add(activity_id, Exchange::Tool(item));
    }

    /// Adds the items that an activity has recorded.
    pub(crate) fn items(&mut self, activity_id: &str, items: Vec<Item>) {
        self.add(activity_id, Exchange::Items(items));
    }

    /// Adds the part of a state that an activity has loaded.
    pub(crate) fn chunk(&mut self, activity_id: &str, chunk: String) {
        self.add(activity_id, Exchange::Chunk(chunk));
    }

    fn add(&mut self, activity_id: &str, exchange: Exchange) {
        self.places.insert(activity_id.to_owned(), self.activities.len());
        self.activities.push((activity_id.to_owned(), exchange));
    }

    /// Returns the request of the model activity with this id, in the form in which it was sent.
    pub(crate) fn request(&self, activity_id: &str) -> Option<&ModelRequest> {
        match self.activities.get(*self.places.get(activity_id)?) {
            Some((_, Exchange::Model { request, .. })) => Some(&**request),
            _ => None,
        }
    }

    /// Returns the call of this activity's request, checked, or `None` when there is no such
    /// request. `known` is an earlier call whose input is known, so that the references before it
    /// need not be resolved.
    ///
    /// # Errors
    /// [`NotWhole`].
    pub(crate) fn call(
        &self,
        activity_id: &str,
        known: Option<(&str, &[Item])>,
    ) -> Option<Result<ModelCall, NotWhole>> {
        let request = self.request(activity_id)?.clone();
        Some(self.unfold(&self.activities[..self.places[activity_id]], request, known))
    }

    fn unfold(
        &self,
        before: &[(String, Exchange)],
        request: ModelRequest,
        known: Option<(&str, &[Item])>,
    ) -> Result<ModelCall, NotWhole> {
        let nothing = |error: UnfoldError| NotWhole {
            error: error.into(),
            input: Vec::new(),
            definitions: Arc::new(Definitions::default()),
        };
        let (mut wanted, call) = Wanted::of(request).map_err(nothing)?;
        if let Err(MissingDefinitions { activity_id, digest: wanted_digest }) = &wanted.definitions
            && let Some(DefinitionsPart::Inline { digest, definitions }) =
                self.request(activity_id).map(|request| &request.definitions)
            && digest == wanted_digest
        {
            wanted.definitions = Ok(Arc::from(definitions.clone()));
        }
        find(&mut wanted.items, before, known).map_err(nothing)?;
        let input = wanted.items.clone().into_items();
        let definitions = wanted.definitions.as_ref().map(Arc::clone).unwrap_or_default();
        let missing = wanted.items.missing().map(|reference| HistoryError::Absent(reference.to_string()));
        let checked = missing.map_or_else(|| wanted.checked(), |absent| Err(Unavailable::from(absent)));
        match checked {
            Ok((input, definitions)) => Ok(ModelCall { definitions: Definitions::clone(&definitions), input, ..call }),
            Err(error) => Err(NotWhole { error: error.into(), input, definitions }),
        }
    }
}

/// Resolves references from history, newest first: a request refers to earlier ones, and those to
/// still earlier ones.
fn find(items: &mut Pending, before: &[(String, Exchange)], known: Option<(&str, &[Item])>) -> Result<(), UnfoldError> {
    let mut states = States::default();
    for (activity_id, exchange) in before.iter().rev() {
        if items.missing().is_none() {
            break;
        }
        if !items.wants(activity_id) {
            continue;
        }
        match exchange {
            Exchange::Tool(item) => items.returned(activity_id, item),
            Exchange::Items(recorded) => items.recorded(activity_id, recorded),
            // Chunks that do not form a state leave the reference unresolved.
            Exchange::Chunk(chunk) => drop(states.take(activity_id, chunk.clone(), items)),
            Exchange::Model { request, answered } => {
                let segments = match known {
                    Some((id, items)) if id == activity_id => vec![InputSegment::Items { items: items.to_vec() }],
                    _ => request.input.segments.clone(),
                };
                let given = Pending::of(segments, request.version)?;
                items.found(activity_id, &given, answered);
            }
        }
    }
    Ok(())
}
