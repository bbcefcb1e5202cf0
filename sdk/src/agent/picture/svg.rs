//! A picture as an SVG image.

use std::{cmp::Ordering, fmt::Write};

use super::{
    AgentBox, Arrow, ArrowKind, Picture,
    layout::{BETWEEN_COLUMNS as GAP, HEAD, LINE, Layout, Place, WIDTH},
};

/// Style of the image, which needs no other file. In a dark page it has its own light ground.
const STYLE: &str = "text{font-family:ui-sans-serif,system-ui,sans-serif;font-size:13px;fill:#1f2328}\
    .name{font-weight:600;font-size:15px}.model,.label{fill:#59636e;font-size:12px}\
    .box{fill:#fff;stroke:#8c959f}.start{stroke:#0969da;stroke-width:2.5}\
    .arrow{fill:none;stroke:#57606a;stroke-width:1.5}.dotted{stroke-dasharray:5 4}\
    .ground{fill:#f6f8fa}.halo{stroke:#f6f8fa;stroke-width:5;paint-order:stroke}";

/// Returns the image.
pub(super) fn draw(picture: &Picture) -> String {
    let Layout { width, height, places } = Layout::of(picture);
    let mut image = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>Agents</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0 10 5 0 10z\" fill=\"#57606a\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    // Arrows of one box begin one below another, so that they can be told apart.
    let mut used = vec![(0, 0); places.len()];
    for arrow in &picture.arrows {
        let (leaves, arrives) = (used[arrow.from].0, used[arrow.to].1);
        used[arrow.from].0 += 1;
        used[arrow.to].1 += 1;
        draw_arrow(&mut image, arrow, (places[arrow.from], leaves), (places[arrow.to], arrives));
    }
    for (at, (agent, place)) in picture.boxes.iter().zip(&places).enumerate() {
        draw_box(&mut image, agent, *place, at == 0);
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

fn draw_arrow(image: &mut String, arrow: &Arrow, (from, leaves): (Place, usize), (to, arrives): (Place, usize)) {
    let y = |place: Place, number: usize| place.top + (20 + 14 * number).min(place.height.saturating_sub(8));
    let (from_y, to_y) = (y(from, leaves), y(to, arrives));
    let (right, left) = (from.left + WIDTH, to.left);
    let (path, label_x, label_y) = match to.column.cmp(&from.column) {
        Ordering::Greater => {
            let middle = usize::midpoint(right, left);
            let path = format!("M{right} {from_y} C{middle} {from_y} {middle} {to_y} {} {to_y}", left - 2);
            // Beside its beginning, where no other box hides it.
            (path, usize::midpoint(right, right + GAP), from_y - 5)
        }
        // Around the right side of the column.
        Ordering::Equal => {
            let (out, end) = (right + 46, right + 2);
            let path = format!("M{right} {from_y} C{out} {from_y} {out} {to_y} {end} {to_y}");
            (path, right + 40, usize::midpoint(from_y, to_y))
        }
        // Back, from the left side to the right side of the other box, low, where none begins.
        Ordering::Less => {
            let low = |place: Place, number: usize| place.top + place.height.saturating_sub(8 + 8 * (number % 4));
            let (start, end) = (from.left, to.left + WIDTH + 2);
            let (from_y, to_y, middle) = (low(from, leaves), low(to, arrives), usize::midpoint(start, end));
            let path = format!("M{start} {from_y} C{middle} {from_y} {middle} {to_y} {end} {to_y}");
            (path, middle, usize::midpoint(from_y, to_y))
        }
    };
    let dotted = if arrow.kind == ArrowKind::Handoff { "" } else { " dotted" };
    let _ = writeln!(image, "<path class=\"arrow{dotted}\" d=\"{path}\" marker-end=\"url(#head)\"/>");
    let label = match (arrow.kind, &arrow.label) {
        (_, Some(label)) => &**label,
        (ArrowKind::Judge, None) => "checks",
        (_, None) => return,
    };
    let _ = writeln!(
        image,
        "<text class=\"label halo\" x=\"{label_x}\" y=\"{label_y}\" text-anchor=\"middle\">{}</text>",
        escaped(label)
    );
}

/// Returns the text with entities of XML, and without characters that XML does not have.
pub(crate) fn escaped(text: &str) -> String {
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
