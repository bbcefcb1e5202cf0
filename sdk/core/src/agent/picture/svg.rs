//! A picture as an SVG image.

use std::fmt::Write;

use super::{
    AgentBox, Arrow, ArrowKind, Picture, cut_to,
    layout::{BETWEEN_COLUMNS, End, HEAD, LINE, Layout, Place, Side, WIDTH},
};

/// Longest label of an arrow, in characters: what fits between two columns.
const LONGEST_LABEL: usize = (BETWEEN_COLUMNS - 40) / 7;

/// Style of the image, which needs no other file. In a dark page it has its own light ground.
const STYLE: &str = "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;fill:#1f2328}\
    .name{font-weight:600;font-size:15px}.model,.label{fill:#59636e;font-size:12px}\
    .box{fill:#fff;stroke:#8c959f}.start{stroke:#0969da;stroke-width:2.5}\
    .arrow{fill:none;stroke:#57606a;stroke-width:1.5}.dotted{stroke-dasharray:5 4}\
    .ground{fill:#f6f8fa}.halo{stroke:#f6f8fa;stroke-width:5;paint-order:stroke}";

/// Returns the image.
pub(super) fn draw(picture: &Picture) -> String {
    let Layout { width, height, places, ends } = Layout::of(picture);
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>Agents</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 10 5 0 10z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (arrow, (from, to)) in picture.arrows.iter().zip(&ends) {
        draw_arrow(&mut image, arrow, *from, *to, height);
    }
    for (at, (agent, place)) in picture.boxes.iter().zip(&places).enumerate() {
        draw_box(&mut image, agent, *place, at == 0);
    }
    // Labels last: no arrow and no box hides them.
    for (arrow, (from, to)) in picture.arrows.iter().zip(&ends) {
        draw_label(&mut image, arrow, *from, *to, height);
    }
    image.push_str("</svg>\n");
    image
}

fn draw_box(image: &mut String, agent: &AgentBox, place: Place, is_start: bool) {
    let Place { left, top, height, .. } = place;
    let start = if is_start { " start" } else { "" };
    let _ = writeln!(
        image,
        "<rect class=\"box{start}\" x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>"
    );
    let mut text = |class: &str, below: usize, text: &str| {
        let (x, y) = (left + 14, top + below);
        let _ = writeln!(image, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", escaped(text));
    };
    text("name", 24, &agent.name);
    text("model", 42, agent.model.as_deref().unwrap_or("model of the run"));
    for (number, line) in agent.lines.iter().enumerate() {
        text("line", HEAD + 14 + number * LINE, &format!("{} {}", line.kind.sign(), line.text));
    }
}

fn draw_arrow(image: &mut String, arrow: &Arrow, from: End, to: End, height: usize) {
    let path = match (from.side, to.side) {
        (Side::Right, Side::Left) => {
            let (middle, end) = (usize::midpoint(from.x, to.x), to.x - 2);
            format!("M{} {} C{middle} {} {middle} {} {end} {}", from.x, from.y, from.y, to.y, to.y)
        }
        (Side::Left, _) => {
            let (middle, end) = (usize::midpoint(from.x, to.x), to.x + 2);
            format!("M{} {} C{middle} {} {middle} {} {end} {}", from.x, from.y, from.y, to.y, to.y)
        }
        (Side::Bottom, _) => {
            let (low, end) = (height - 12, to.y + 2);
            format!("M{} {} C{} {low} {} {low} {} {end}", from.x, from.y, from.x, to.x, to.x)
        }
        // Around the right side of the column, further out the longer it is.
        _ => {
            let (out, end) = (from.x + out_of(from, to), to.x + 2);
            format!("M{} {} C{out} {} {out} {} {end} {}", from.x, from.y, from.y, to.y, to.y)
        }
    };
    let dotted = if arrow.kind == ArrowKind::Handoff { "" } else { " dotted" };
    let _ = writeln!(image, "<path class=\"arrow{dotted}\" d=\"{path}\" marker-end=\"url(#head)\"/>");
}

/// Returns the distance from its column of the points that pull an arrow inside it.
fn out_of(from: End, to: End) -> usize {
    (32 + from.y.abs_diff(to.y) / 10).min(BETWEEN_COLUMNS * 3 / 4)
}

/// Draws the name of an arrow beside the end that no other arrow shares.
fn draw_label(image: &mut String, arrow: &Arrow, from: End, to: End, height: usize) {
    let label = match (arrow.kind, &arrow.label) {
        (_, Some(label)) => cut_to(label, LONGEST_LABEL),
        (ArrowKind::Judge, None) => "checks".to_owned(),
        (_, None) => return,
    };
    let (x, y, anchor) = match (from.side, to.side) {
        (_, Side::Left) => (to.x - 14, to.y - 5, "end"),
        (Side::Left, _) => (from.x - 8, from.y - 5, "end"),
        (Side::Bottom, _) => (usize::midpoint(from.x, to.x), height - 30, "middle"),
        _ => (from.x + out_of(from, to) * 3 / 4 + 6, usize::midpoint(from.y, to.y) + 4, "start"),
    };
    let _ = writeln!(
        image,
        "<text class=\"label halo\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(&label)
    );
}

/// Returns the text with entities of XML, and without characters that XML does not have.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
