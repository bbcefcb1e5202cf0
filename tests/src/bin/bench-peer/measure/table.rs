//! The numbers of all rounds, and the table of their medians.

use std::collections::BTreeMap;

use super::Column;

/// Numbers by row and column, with the rows in the order in which they were first added.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<(String, BTreeMap<Column, Vec<f64>>)>);

impl Table {
    /// Adds a number to a row and column.
    pub(super) fn note(&mut self, row: &str, column: Column, value: f64) {
        let place = self.0.iter().position(|(known, _)| known == row).unwrap_or_else(|| {
            self.0.push((row.to_owned(), BTreeMap::new()));
            self.0.len() - 1
        });
        self.0[place].1.entry(column).or_default().push(value);
    }

    /// Formats the medians as a table in Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut lines =
            vec![line("", Column::ALL.map(|column| column.name().to_owned())), "|---|---:|---:|---:|".into()];
        for (row, values) in &self.0 {
            let shown = |column| values.get(&column).map_or_else(|| "-".to_owned(), |values| shown(median(values)));
            lines.push(line(row, Column::ALL.map(shown)));
        }
        lines.join("\n")
    }
}

fn line(row: &str, cells: [String; Column::ALL.len()]) -> String {
    format!("| {row} | {} |", cells.join(" | "))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[len / 2],
        len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
    }
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}
