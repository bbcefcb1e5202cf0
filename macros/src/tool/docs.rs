//! What doc comments say to the model: the tool's description, and one text per argument.
//!
//! The description is what stands before the first level-one heading, line breaks kept. Under `# Arguments` every
//! bullet describes one argument. Other sections (`# Errors`, `# Examples`) are for people. Headings in code fences are
//! none.

use proc_macro2::Span;
use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::mistakes::Mistakes;

mod bullet;

pub(super) use bullet::Bullet;
use bullet::Bullets;

/// The doc comment of a function.
#[derive(Default)]
pub(super) struct Docs {
    /// What the tool does; empty when the comment does not say.
    pub(super) description: String,
    /// The bullets under `# Arguments`.
    pub(super) bullets: Vec<Bullet>,
}

/// A line of a doc comment, without the marks of the comment.
struct Line {
    text: String,
    span: Span,
}

enum Section {
    Description,
    Arguments,
    Other,
}

impl Docs {
    /// Reads the doc comment among these attributes.
    pub(super) fn read(attributes: &[Attribute], mistakes: &mut Mistakes) -> Self {
        let mut description = Vec::new();
        let mut bullets = Bullets::default();
        let mut section = Section::Description;
        let mut fenced = false;
        for line in lines(attributes) {
            fenced ^= is_fence(&line.text);
            match heading(&line.text).filter(|_| !fenced) {
                Some((_, title)) if is_arguments(title) => section = Section::Arguments,
                Some((1, _)) => section = Section::Other,
                Some(_) if matches!(section, Section::Arguments) => section = Section::Other,
                _ => match section {
                    Section::Description => description.push(line.text),
                    Section::Arguments => bullets.read(&line, mistakes),
                    Section::Other => {}
                },
            }
        }
        Self { description: description.join("\n").trim().to_owned(), bullets: bullets.done() }
    }
}

/// The whole doc comment among these attributes; `None` when there is none.
pub(super) fn text(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = lines(attributes).into_iter().map(|line| line.text).collect();
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn lines(attributes: &[Attribute]) -> Vec<Line> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Some((text, span)) = doc(attribute) else { continue };
        let starred = text.contains('\n') && text.lines().skip(1).all(is_blank_or_starred);
        lines.extend(text.split('\n').map(|line| Line { text: unmarked(line, starred), span }));
    }
    lines
}

/// The text of `#[doc = ".."]`, which is what a doc comment is.
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

/// The line without the leading space of `/// text`, or the leading star of a block comment in which each line has one.
fn unmarked(line: &str, starred: bool) -> String {
    let line = if starred { line.trim_start().strip_prefix('*').unwrap_or(line) } else { line };
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// The level and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (level > 0 && title.starts_with(' ')).then(|| (level, title.trim()))
}

fn is_arguments(title: &str) -> bool {
    ["arguments", "args", "parameters"].contains(&title.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
