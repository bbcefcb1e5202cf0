//! An input whose references are being resolved to items.

use temporal_agents_core::wire::{
    InputSegment, Item, WIRE_VERSION, WireVersion, WireVersionMismatch,
    conversation::{CallPart, tool_activity_of},
    tool_batch::index_in,
};

/// The maximum number of parts for tool results in an input: a server accepts 51,200 events in a
/// history, and each result is at least one event. The count of a segment comes from the request; a
/// segment with a higher count is truncated, and the digest check of the entire input then fails.
const MAX_TOOL_RESULTS: usize = 51_200;

/// The parts of an input, some of them unresolved.
#[derive(Clone, Debug)]
pub(super) struct Pending(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Found(Vec<Item>),
    Missing(Reference),
}

/// A reference to items in history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Items `start..end` of a model call's input or output; without a part, of its input followed
    /// by its output.
    Call { activity_id: String, part: Option<CallPart>, start: usize, end: usize },
    /// Items `start..end` of those that an activity has recorded.
    Recorded { activity_id: String, start: usize, end: usize },
    /// Items `start..end` of the state that the run has loaded in `chunks` chunks.
    State { activity_id: String, chunks: usize, start: usize, end: usize },
    /// The result of a tool activity, as an item.
    Tool { activity_id: String },
}

impl Reference {
    /// `true` if this activity holds a part of the reference's items.
    fn is_of(&self, activity: &str) -> bool {
        match self {
            Self::Call { activity_id, .. } | Self::Recorded { activity_id, .. } => activity_id == activity,
            Self::Tool { activity_id } => activity_id == activity || index_in(activity, activity_id).is_some(),
            Self::State { activity_id, chunks, .. } => {
                chunk_of(activity, activity_id).is_some_and(|number| number < *chunks)
            }
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Call { activity_id, part, start, end } => {
                let part = match part {
                    Some(CallPart::Given) => "input",
                    Some(CallPart::Answered) => "output",
                    None => "input and output",
                };
                write!(f, "items {start}..{end} of the {part} of model call {activity_id}")
            }
            Self::Recorded { activity_id, start, end } => {
                write!(f, "items {start}..{end} that activity {activity_id} recorded")
            }
            Self::State { activity_id, chunks, start, end } => {
                write!(f, "items {start}..{end} of the state that activities {activity_id}-0..{chunks} loaded")
            }
            Self::Tool { activity_id } => write!(f, "the result of tool activity {activity_id}"),
        }
    }
}

impl Pending {
    /// Creates the input of these segments, in a message of this version.
    ///
    /// # Errors
    /// [`WireVersionMismatch`] for a kind of segment that this build does not know.
    pub(super) fn of(segments: Vec<InputSegment>, version: WireVersion) -> Result<Self, WireVersionMismatch> {
        let mut all = Vec::with_capacity(segments.len());
        for segment in segments {
            parts(segment, version, &mut all)?;
        }
        Ok(Self(all))
    }

    /// Resolves the references for which `known` returns items.
    pub(super) fn look_up(&mut self, mut known: impl FnMut(&Reference) -> Option<Vec<Item>>) {
        for part in &mut self.0 {
            if let Part::Missing(reference) = part
                && let Some(items) = known(reference)
            {
                *part = Part::Found(items);
            }
        }
    }

    /// Returns the first unresolved reference, if any.
    pub(super) fn missing(&self) -> Option<&Reference> {
        self.0.iter().find_map(|part| match part {
            Part::Found(_) => None,
            Part::Missing(reference) => Some(reference),
        })
    }

    /// `true` if a reference to this activity is unresolved.
    pub(super) fn wants(&self, activity_id: &str) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Missing(reference) if reference.is_of(activity_id)))
    }

    /// Resolves references to a model call with this input and output. References in the input
    /// become references of this one.
    pub(super) fn found(&mut self, activity_id: &str, given: &Pending, answered: &[Item]) {
        let count = given.0.iter().map(Part::len).sum::<usize>();
        let parts = std::mem::take(&mut self.0);
        for part in parts {
            match &part {
                Part::Missing(Reference::Call { activity_id: of, part: side, start, end }) if of == activity_id => {
                    let (of_given, of_answered) = match side {
                        Some(CallPart::Given) => ((*start, *end), (0, 0)),
                        Some(CallPart::Answered) => ((0, 0), (*start, *end)),
                        None => {
                            // Without a part, the range covers the input followed by the output.
                            let after = |place: usize| place.saturating_sub(count);
                            (((*start).min(count), (*end).min(count)), (after(*start), after(*end)))
                        }
                    };
                    match answered.get(of_answered.0..of_answered.1) {
                        Some(items) => {
                            self.0.extend(given.slice(of_given.0, of_given.1));
                            self.0.push(Part::Found(items.to_vec()));
                        }
                        None => self.0.push(part),
                    }
                }
                _ => self.0.push(part),
            }
        }
    }

    /// Resolves references to the items that an activity has recorded.
    pub(super) fn recorded(&mut self, activity_id: &str, items: &[Item]) {
        self.look_up(|reference| match reference {
            Reference::Recorded { activity_id: of, start, end } if of == activity_id => {
                items.get(*start..*end).map(<[Item]>::to_vec)
            }
            _ => None,
        });
    }

    /// Returns the prefix of the activity ids and the number of chunks of the state whose chunk
    /// this activity has loaded, if a reference to it is unresolved.
    pub(super) fn state_of(&self, activity: &str) -> Option<(String, usize)> {
        self.0.iter().find_map(|part| match part {
            Part::Missing(reference @ Reference::State { activity_id, chunks, .. }) if reference.is_of(activity) => {
                Some((activity_id.clone(), *chunks))
            }
            _ => None,
        })
    }

    /// Resolves references to a state with these items.
    pub(super) fn loaded(&mut self, activity_id: &str, items: &[Item]) {
        self.look_up(|reference| match reference {
            Reference::State { activity_id: of, start, end, .. } if of == activity_id => {
                items.get(*start..*end).map(<[Item]>::to_vec)
            }
            _ => None,
        });
    }

    /// Resolves references to the result of a tool activity.
    pub(super) fn returned(&mut self, activity_id: &str, item: &Item) {
        self.look_up(|reference| match reference {
            Reference::Tool { activity_id: of } if of == activity_id => Some(vec![item.clone()]),
            _ => None,
        });
    }

    /// Returns the items of all resolved parts.
    pub(super) fn into_items(self) -> Vec<Item> {
        let found = self.0.into_iter().filter_map(|part| match part {
            Part::Found(items) => Some(items),
            Part::Missing(_) => None,
        });
        found.flatten().collect()
    }

    /// Returns the parts that hold the items `start..end`.
    fn slice(&self, start: usize, end: usize) -> Vec<Part> {
        let mut slices = Vec::new();
        let mut at = 0;
        for part in &self.0 {
            let len = part.len();
            let (from, to) = (start.clamp(at, at + len) - at, end.clamp(at, at + len) - at);
            if from < to {
                slices.push(part.slice(from, to));
            }
            at += len;
        }
        slices
    }
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Found(items) => items.len(),
            Self::Missing(
                Reference::Call { start, end, .. }
                | Reference::Recorded { start, end, .. }
                | Reference::State { start, end, .. },
            ) => end.saturating_sub(*start),
            Self::Missing(Reference::Tool { .. }) => 1,
        }
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        let mut slice = self.clone();
        match &mut slice {
            Self::Found(items) => *items = items[from..to].to_vec(),
            Self::Missing(
                Reference::Call { start, end, .. }
                | Reference::Recorded { start, end, .. }
                | Reference::State { start, end, .. },
            ) => (*start, *end) = (*start + from, *start + to),
            Self::Missing(Reference::Tool { .. }) => {}
        }
        slice
    }
}

/// Returns the number of the chunk that an activity has loaded, if its id has this prefix. A suffix
/// of activities that were scheduled again is ignored.
pub(super) fn chunk_of(activity: &str, begins: &str) -> Option<usize> {
    let number = activity.strip_prefix(begins)?.strip_prefix('-')?;
    number.split_once("-retry-").map_or(number, |(number, _)| number).parse().ok()
}

fn parts(segment: InputSegment, version: WireVersion, parts: &mut Vec<Part>) -> Result<(), WireVersionMismatch> {
    parts.push(match segment {
        InputSegment::Items { items } => Part::Found(items),
        InputSegment::Call { activity_id, part, start, end, results } => {
            let (start, end) = (place(start), place(end));
            let room = MAX_TOOL_RESULTS.saturating_sub(parts.len());
            let tools = (0..results).take(room).filter_map(|number| tool_activity_of(&activity_id, number));
            let tools: Vec<_> = tools.map(|activity_id| Part::Missing(Reference::Tool { activity_id })).collect();
            parts.push(Part::Missing(Reference::Call { activity_id, part, start, end }));
            parts.extend(tools);
            return Ok(());
        }
        InputSegment::Recorded { activity_id, start, end } => {
            Part::Missing(Reference::Recorded { activity_id, start: place(start), end: place(end) })
        }
        InputSegment::State { activity_id, chunks, start, end } => {
            Part::Missing(Reference::State { activity_id, chunks: place(chunks), start: place(start), end: place(end) })
        }
        InputSegment::ToolResult { activity_id } => Part::Missing(Reference::Tool { activity_id }),
        InputSegment::Unknown(kind) => {
            let (message, reads, unknown) = ("model request", WIRE_VERSION, Some(kind));
            return Err(WireVersionMismatch { message, found: version, reads, unknown });
        }
    });
    Ok(())
}

fn place(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
