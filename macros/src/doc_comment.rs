//! Doc comments as strings.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// A line of a doc comment, without the comment markers.
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// Returns the whole doc comment among these attributes; `None` if there is none.
pub(crate) fn text(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = lines(attributes).into_iter().map(|line| line.text).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns the lines of the doc comments among these attributes.
pub(crate) fn lines(attributes: &[Attribute]) -> Vec<Line> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Some((text, span)) = doc(attribute) else { continue };
        let starred = text.contains('\n') && text.lines().skip(1).all(is_blank_or_starred);
        lines.extend(text.split('\n').map(|line| Line { text: unmarked(line, starred), span }));
    }
    lines
}

/// Returns the string of `#[doc = ".."]`, the form of doc comments in attributes.
fn doc(attribute: &Attribute) -> Option<(String, Span)> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some((text.value(), text.span())),
            _ => None,
        },
        _ => None,
    }
}

fn is_blank_or_starred(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('*')
}

/// Returns the line without the leading space of `/// text`, or without the leading star of a block
/// comment in which each line has one.
fn unmarked(line: &str, starred: bool) -> String {
    let line = if starred { line.trim_start().strip_prefix('*').unwrap_or(line) } else { line };
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}
