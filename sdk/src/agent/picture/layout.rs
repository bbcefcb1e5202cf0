//! The places of boxes: a column for each depth, boxes of a column one below another.

use super::{AgentBox, Picture};

/// Width of a box, in pixels.
pub(super) const WIDTH: usize = 280;
/// Height of a line in a box.
pub(super) const LINE: usize = 18;
/// Height of a box without lines: its name and its model.
pub(super) const HEAD: usize = 52;
/// Space around the picture.
const MARGIN: usize = 40;
/// Space between two columns, for arrows and their labels.
pub(super) const BETWEEN_COLUMNS: usize = 170;
/// Space between two boxes of a column.
const BETWEEN_BOXES: usize = 36;
/// Most boxes of one column; more continue in a column beside it.
const MOST_IN_COLUMN: usize = 6;

/// The place of a box, in pixels from the left and the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) height: usize,
    pub(super) column: usize,
}

/// The places of a picture.
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The places, in the order of the boxes.
    pub(super) places: Vec<Place>,
}

impl Layout {
    pub(super) fn of(picture: &Picture) -> Self {
        let columns = columns(&picture.boxes);
        let height_of = |column: &[usize]| {
            let boxes: usize = column.iter().map(|at| height(&picture.boxes[*at])).sum();
            boxes + BETWEEN_BOXES * column.len().saturating_sub(1)
        };
        let tallest = columns.iter().map(|column| height_of(column)).max().unwrap_or_default();
        let mut places = vec![Place { left: 0, top: 0, height: 0, column: 0 }; picture.boxes.len()];
        for (number, column) in columns.iter().enumerate() {
            let left = MARGIN + number * (WIDTH + BETWEEN_COLUMNS);
            let mut top = MARGIN + (tallest - height_of(column)) / 2;
            for at in column {
                let height = height(&picture.boxes[*at]);
                places[*at] = Place { left, top, height, column: number };
                top += height + BETWEEN_BOXES;
            }
        }
        let between = BETWEEN_COLUMNS * columns.len().saturating_sub(1);
        Self { width: 2 * MARGIN + columns.len() * WIDTH + between, height: 2 * MARGIN + tallest, places }
    }
}

fn height(agent: &AgentBox) -> usize {
    let lines = agent.lines.len();
    HEAD + lines * LINE + if lines > 0 { 10 } else { 0 }
}

/// Returns the boxes of each column.
fn columns(boxes: &[AgentBox]) -> Vec<Vec<usize>> {
    let deepest = boxes.iter().map(|agent| agent.depth).max().unwrap_or_default();
    let of_depth = |depth| -> Vec<usize> { (0..boxes.len()).filter(|at| boxes[*at].depth == depth).collect() };
    let columns = (0..=deepest)
        .flat_map(|depth| of_depth(depth).chunks(MOST_IN_COLUMN).map(<[usize]>::to_vec).collect::<Vec<_>>());
    columns.collect()
}
