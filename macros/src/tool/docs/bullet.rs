//! The bullets under `# Arguments`: ``* `city` - city name``.

use proc_macro2::Span;

use crate::{doc_comment::Line, mistakes::Mistakes};

/// A bullet that describes an argument.
pub(in crate::tool) struct Bullet {
    /// Name of the argument, without `r#`.
    pub(in crate::tool) name: String,
    /// Description of the argument.
    pub(in crate::tool) text: String,
    /// Span of the line of the bullet.
    pub(in crate::tool) span: Span,
}

/// A parser that reads bullets line by line.
#[derive(Default)]
pub(super) struct Bullets {
    done: Vec<Bullet>,
    /// Indentation of the first bullet, in bytes. Deeper lines belong to the bullet above them.
    indent: usize,
    /// `true` if the next line may continue the last bullet.
    open: bool,
    after_blank: bool,
}

impl Bullets {
    /// Parses one line: a bullet, more text of the bullet above, or prose between bullets, which is
    /// ignored.
    pub(super) fn read(&mut self, line: &Line, mistakes: &mut Mistakes) {
        let text = line.text.trim_start();
        let indent = line.text.len() - text.len();
        if text.is_empty() {
            self.after_blank = true;
            return;
        }
        let marked = ["* ", "- ", "+ "].iter().find_map(|marker| text.strip_prefix(marker));
        match marked {
            Some(bullet) if self.done.is_empty() || indent <= self.indent => {
                if self.done.is_empty() {
                    self.indent = indent;
                }
                self.start(bullet.trim_start(), line.span, mistakes);
            }
            _ if self.open && (indent > self.indent || !self.after_blank) => self.go_on(text, marked.is_some()),
            _ => self.open = false,
        }
        self.after_blank = false;
    }

    /// Returns all bullets.
    pub(super) fn done(self) -> Vec<Bullet> {
        self.done
    }

    fn start(&mut self, bullet: &str, span: Span, mistakes: &mut Mistakes) {
        self.open = false;
        if let Some((name, text)) = parse(bullet) {
            self.open = true;
            let name = name.strip_prefix("r#").unwrap_or(name).to_owned();
            self.done.push(Bullet { name, text: text.to_owned(), span });
        } else {
            mistakes.at(
                span,
                "this bullet does not name an argument: write ``* `city` - what the model should put there``",
            );
        }
    }

    fn go_on(&mut self, text: &str, is_item: bool) {
        if let Some(bullet) = self.done.last_mut() {
            if !bullet.text.is_empty() {
                bullet.text.push(if is_item { '\n' } else { ' ' });
            }
            bullet.text.push_str(text);
        }
    }
}

/// Splits a bullet into name and text; the name is in backticks, or precedes a separator.
fn parse(bullet: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = bullet.strip_prefix('`') {
        let (name, text) = quoted.split_once('`')?;
        let text = text.trim_start();
        return Some((name, without_separator(text).unwrap_or(text)));
    }
    let end = bullet.find(|char: char| !(char.is_alphanumeric() || char == '_' || char == '#'))?;
    let (name, text) = bullet.split_at(end);
    (!name.is_empty()).then_some((name, without_separator(text.trim_start())?))
}

fn without_separator(text: &str) -> Option<&str> {
    ["--", "-", "–", "—", ":"].iter().find_map(|separator| text.strip_prefix(separator)).map(str::trim_start)
}
