//! Where history has items, and an input written in such places.

use std::rc::Rc;

use super::number;
use crate::wire::{
    Item,
    conversation::{InputSegment, tool_activity_of},
};

/// Where history has an item.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    In { list: List, index: u32 },
    Tool { activity_id: Rc<str> },
}

/// A list of items that history has.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum List {
    /// What a model call was given, and then what it answered.
    Call {
        activity_id: Rc<str>,
    },
    Recorded {
        activity_id: Rc<str>,
    },
    State {
        activity_id: Rc<str>,
        chunks: u32,
    },
}

/// The segments of an input, one after another.
#[derive(Default)]
pub(super) struct Segments(Vec<Segment>);

enum Segment {
    Items(Vec<Item>),
    /// Of a call, followed by so many results of its tools.
    Range {
        list: List,
        start: u32,
        end: u32,
        results: u32,
    },
    Tool {
        activity_id: Rc<str>,
    },
}

impl Segments {
    /// The place that the last segment would have next.
    pub(super) fn next(&self) -> Option<Place> {
        match self.0.last()? {
            Segment::Range { list, start: _, end, results: 0 } => Some(Place::In { list: list.clone(), index: *end }),
            _ => None,
        }
    }

    /// So many items, the first of them at this place.
    pub(super) fn refer(&mut self, place: Place, count: usize) {
        match place {
            Place::Tool { activity_id } => match self.0.last_mut() {
                Some(Segment::Range { list: List::Call { activity_id: call }, results, .. })
                    if tool_activity_of(call, *results).as_deref() == Some(&activity_id) =>
                {
                    *results += 1;
                }
                _ => self.0.push(Segment::Tool { activity_id }),
            },
            Place::In { list, index } => {
                let new_end = index + number(count);
                match self.0.last_mut() {
                    Some(Segment::Range { list: last, end, results: 0, .. }) if (&*last, *end) == (&list, index) => {
                        *end = new_end;
                    }
                    _ => self.0.push(Segment::Range { list, start: index, end: new_end, results: 0 }),
                }
            }
        }
    }

    /// The item itself.
    pub(super) fn repeat(&mut self, item: &Item) {
        if let Some(Segment::Items(items)) = self.0.last_mut() {
            items.push(item.clone());
        } else {
            self.0.push(Segment::Items(vec![item.clone()]));
        }
    }

    pub(super) fn finish(self) -> Vec<InputSegment> {
        let written = |segment| match segment {
            Segment::Items(items) => InputSegment::Items { items },
            Segment::Tool { activity_id } => InputSegment::ToolResult { activity_id: activity_id.to_string() },
            Segment::Range { list: List::Call { activity_id }, start, end, results } => {
                InputSegment::Call { activity_id: activity_id.to_string(), part: None, start, end, results }
            }
            Segment::Range { list: List::Recorded { activity_id }, start, end, .. } => {
                InputSegment::Recorded { activity_id: activity_id.to_string(), start, end }
            }
            Segment::Range { list: List::State { activity_id, chunks }, start, end, .. } => {
                InputSegment::State { activity_id: activity_id.to_string(), chunks, start, end }
            }
        };
        self.0.into_iter().map(written).collect()
    }
}
