//! A picture as a flowchart of Mermaid.

use std::fmt::Write;

use super::{AgentBox, Arrow, ArrowKind, Picture};

/// Returns the flowchart.
pub(super) fn draw(picture: &Picture) -> String {
    let mut chart = "flowchart LR\n".to_owned();
    for (at, agent) in picture.boxes.iter().enumerate() {
        let _ = writeln!(chart, "    a{at}[\"{}\"]", label_of(agent));
    }
    for Arrow { from, to, kind, label } in &picture.arrows {
        let arrow = match kind {
            ArrowKind::Handoff => "-->",
            ArrowKind::Call | ArrowKind::Judge => "-.->",
        };
        let label = match (kind, label) {
            (_, Some(label)) => format!("|\"{}\"|", escaped(label)),
            (ArrowKind::Judge, None) => "|\"checks\"|".to_owned(),
            (_, None) => String::new(),
        };
        let _ = writeln!(chart, "    a{from} {arrow}{label} a{to}");
    }
    if !picture.boxes.is_empty() {
        chart.push_str("    style a0 stroke-width:3px\n");
    }
    chart
}

fn label_of(agent: &AgentBox) -> String {
    let mut label = format!("<b>{}</b>", escaped(&agent.name));
    if let Some(model) = &agent.model {
        let _ = write!(label, "<br/><i>{}</i>", escaped(model));
    }
    for line in &agent.lines {
        let _ = write!(label, "<br/>{} {}", line.kind.sign(), escaped(&line.text));
    }
    label
}

/// Returns the text with entities of Mermaid in place of all that it, HTML or Markdown could read
/// as syntax.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | ':' | '/' | '\u{2026}') {
            escaped.push(c);
        } else {
            let _ = write!(escaped, "#{};", u32::from(c));
        }
    }
    escaped
}
