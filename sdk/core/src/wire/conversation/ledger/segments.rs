//! Places of items in history, and an input written as such places.

use std::rc::Rc;

use super::number;
use crate::wire::{
    Item,
    conversation::{InputSegment, tool_activity_of},
};

/// The place of an item in history.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    In { list: List, index: u32 },
    Tool { activity_id: Rc<str> },
}

/// A list of items in history.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum List {
    /// The input of a model call, followed by its output.
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

/// The segments of an input, in order.
#[derive(Default)]
pub(super) struct Segments(Vec<Segment>);

enum Segment {
    Items(Vec<Item>),
    /// Items of a list, followed, for a call, by the first `results` results of its tools.
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
    /// Returns the place that would extend the last segment.
    pub(super) fn next(&self) -> Option<Place> {
        match self.0.last()? {
            Segment::Range { list, start: _, end, results: 0 } => Some(Place::In { list: list.clone(), index: *end }),
            _ => None,
        }
    }

    /// Adds a reference to `count` items, the first of them at this place.
    pub(super) fn refer(&mut self, place: Place, count: usize) {
        match place {
            Place::Tool { activity_id } => match self.0.last_mut() {
                // A result that comes next among those of the call extends its segment.
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
                    // Only a segment without results can be extended by items, because results come
                    // after the items.
                    Some(Segment::Range { list: last, end, results: 0, .. }) if (&*last, *end) == (&list, index) => {
                        *end = new_end;
                    }
                    _ => self.0.push(Segment::Range { list, start: index, end: new_end, results: 0 }),
                }
            }
        }
    }

    /// Adds the item itself.
    pub(super) fn repeat(&mut self, item: &Item) {
        if let Some(Segment::Items(items)) = self.0.last_mut() {
            items.push(item.clone());
        } else {
            self.0.push(Segment::Items(vec![item.clone()]));
        }
    }

    /// Returns the segments in their wire form.
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
