//! Doc comments for the model: the tool's description, and one description per argument.
//!
//! The description is the comment before the first level-one heading, with its line breaks. Under
//! `# Arguments` every bullet describes one argument. Other sections (`# Errors`, `# Examples`) are
//! for readers of the code. Lines in code fences are not headings.

use syn::Attribute;

use crate::{doc_comment::lines, mistakes::Mistakes};

mod bullet;

pub(super) use bullet::Bullet;
use bullet::Bullets;

/// The doc comment of a function.
#[derive(Default)]
pub(super) struct Docs {
    /// Description of the tool; empty if the comment has none.
    pub(super) description: String,
    /// The bullets under `# Arguments`.
    pub(super) bullets: Vec<Bullet>,
}

enum Section {
    Description,
    Arguments,
    Other,
}

impl Docs {
    /// Parses the doc comment among these attributes.
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

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns the level and the title of a heading; `None` if the line is not a heading.
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
