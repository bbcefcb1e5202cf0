//! The places of boxes and of the ends of arrows: a column for each depth, boxes of a column one
//! below another.
//!
//! An arrow leads at most one depth further, so that no box is between its ends unless it leads
//! back. The ends on one side of a box are spread over its height, in the order of the boxes at
//! their other ends, which keeps arrows apart and labels on lines of their own.

use std::cmp::Ordering;

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
pub(super) const BETWEEN_COLUMNS: usize = 200;
/// Space between two boxes of a column.
const BETWEEN_BOXES: usize = 28;
/// Most boxes of one column; more continue in a column beside it.
const MOST_IN_COLUMN: usize = 14;
/// Height that an end of an arrow takes on the side of a box.
const END: usize = 16;
/// Height below the boxes for arrows that lead back over a column.
const BACK: usize = 60;

/// The place of a box, in pixels from the left and the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) left: usize,
    pub(super) top: usize,
    pub(super) height: usize,
    pub(super) column: usize,
}

/// A side of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
    Bottom,
}

/// An end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) side: Side,
    pub(super) x: usize,
    pub(super) y: usize,
}

/// The places of a picture.
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The places, in the order of the boxes.
    pub(super) places: Vec<Place>,
    /// The ends of each arrow, in their order.
    pub(super) ends: Vec<(End, End)>,
}

impl Layout {
    pub(super) fn of(picture: &Picture) -> Self {
        let columns = columns(&picture.boxes);
        let mut column_of = vec![0; picture.boxes.len()];
        for (number, column) in columns.iter().enumerate() {
            for at in column {
                column_of[*at] = number;
            }
        }
        let sides: Vec<(Side, Side)> =
            picture.arrows.iter().map(|arrow| sides(column_of[arrow.from], column_of[arrow.to])).collect();
        let heights = heights(picture, &sides);
        let height_of = |column: &[usize]| {
            let boxes: usize = column.iter().map(|at| heights[*at]).sum();
            boxes + BETWEEN_BOXES * column.len().saturating_sub(1)
        };
        let tallest = columns.iter().map(|column| height_of(column)).max().unwrap_or_default();
        let mut places = vec![Place { left: 0, top: 0, height: 0, column: 0 }; picture.boxes.len()];
        for (number, column) in columns.iter().enumerate() {
            let left = MARGIN + number * (WIDTH + BETWEEN_COLUMNS);
            let mut top = MARGIN + (tallest - height_of(column)) / 2;
            for at in column {
                let height = heights[*at];
                places[*at] = Place { left, top, height, column: number };
                top += height + BETWEEN_BOXES;
            }
        }
        let ends = ends(picture, &sides, &places);
        // Arrows and labels to the right of the last column.
        let within = sides
            .iter()
            .zip(&picture.arrows)
            .any(|(sides, arrow)| *sides == (Side::Right, Side::Right) && column_of[arrow.from] + 1 == columns.len());
        let right = if within { BETWEEN_COLUMNS } else { 0 };
        let back = if sides.contains(&(Side::Bottom, Side::Bottom)) { BACK } else { 0 };
        let between = BETWEEN_COLUMNS * columns.len().saturating_sub(1);
        let width = 2 * MARGIN + columns.len() * WIDTH + between + right;
        Self { width, height: 2 * MARGIN + tallest + back, places, ends }
    }
}

/// Returns the sides at which an arrow between two columns leaves and arrives.
fn sides(from: usize, to: usize) -> (Side, Side) {
    match to.cmp(&from) {
        Ordering::Greater => (Side::Right, Side::Left),
        Ordering::Equal => (Side::Right, Side::Right),
        Ordering::Less if from - to == 1 => (Side::Left, Side::Right),
        // Around the boxes between them.
        Ordering::Less => (Side::Bottom, Side::Bottom),
    }
}

/// Returns the height of each box, with room for its lines and for the ends on each side.
fn heights(picture: &Picture, sides: &[(Side, Side)]) -> Vec<usize> {
    let count = |at: usize, side: Side| {
        let arrows = picture.arrows.iter().zip(sides);
        arrows
            .map(|(arrow, (leaves, arrives))| {
                usize::from(arrow.from == at && *leaves == side) + usize::from(arrow.to == at && *arrives == side)
            })
            .sum::<usize>()
    };
    let heights = picture.boxes.iter().enumerate().map(|(at, agent)| {
        let lines = agent.lines.len();
        let text = HEAD + lines * LINE + if lines > 0 { 10 } else { 0 };
        let ends = count(at, Side::Left).max(count(at, Side::Right));
        text.max((ends + 1) * END)
    });
    heights.collect()
}

/// Returns the ends of each arrow.
fn ends(picture: &Picture, sides: &[(Side, Side)], places: &[Place]) -> Vec<(End, End)> {
    let mut ends = vec![[None; 2]; sides.len()];
    for (at, place) in places.iter().enumerate() {
        for side in [Side::Left, Side::Right, Side::Bottom] {
            // The ends on this side: arrow, 0 where it leaves and 1 where it arrives, other box.
            let mut here: Vec<(usize, usize, Place)> = Vec::new();
            for (number, (arrow, (leaves, arrives))) in picture.arrows.iter().zip(sides).enumerate() {
                if arrow.from == at && *leaves == side {
                    here.push((number, 0, places[arrow.to]));
                }
                if arrow.to == at && *arrives == side {
                    here.push((number, 1, places[arrow.from]));
                }
            }
            here.sort_by_key(|(number, end, other)| (other.top + other.height / 2, *number, *end));
            let count = here.len();
            for (nth, (number, end, _)) in here.into_iter().enumerate() {
                let part = |length: usize| length * (nth + 1) / (count + 1);
                let (x, y) = match side {
                    Side::Left => (place.left, place.top + part(place.height)),
                    Side::Right => (place.left + WIDTH, place.top + part(place.height)),
                    Side::Bottom => (place.left + part(WIDTH), place.top + place.height),
                };
                ends[number][end] = Some(End { side, x, y });
            }
        }
    }
    // Each arrow is between two boxes of the picture.
    let nowhere = End { side: Side::Right, x: 0, y: 0 };
    ends.into_iter().map(|[from, to]| (from.unwrap_or(nowhere), to.unwrap_or(nowhere))).collect()
}

/// Returns the boxes of each column.
fn columns(boxes: &[AgentBox]) -> Vec<Vec<usize>> {
    let deepest = boxes.iter().map(|agent| agent.depth).max().unwrap_or_default();
    let of_depth = |depth| -> Vec<usize> { (0..boxes.len()).filter(|at| boxes[*at].depth == depth).collect() };
    let columns = (0..=deepest)
        .flat_map(|depth| of_depth(depth).chunks(MOST_IN_COLUMN).map(<[usize]>::to_vec).collect::<Vec<_>>());
    columns.collect()
}
