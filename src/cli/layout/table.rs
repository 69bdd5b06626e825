//! Several records: a row for each. On a terminal a row fits its width, if what may be shortened allows it.

use std::iter::once;

use ::console::{Alignment, Style, Term, measure_text_width, pad_str, truncate_str};
use chrono::DateTime;
use serde_json::Value;
use uuid::Uuid;

use crate::cli::layout::cell::cell;

/// What stands between two columns.
const GAP: &str = "  ";
/// So much of a column is shown at least, however narrow the terminal is.
const LEAST: usize = 8;

/// The fields of these records, in their order. Structures within them are left out, and the second form of their ids.
pub fn columns(records: &[Value]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    for (name, value) in records.iter().filter_map(Value::as_object).flatten() {
        let is_structure = value.is_object() || value.as_array().is_some_and(|items| items.iter().any(Value::is_object));
        if name != "uuid" && !is_structure && !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    columns
}

/// The rows below the names of their columns. A column in which nothing stands is left out. `health.state` is a field within a field.
pub fn table(columns: &[String], records: &[Value]) -> String {
    let terminal = Term::stdout();
    let width = terminal.is_term().then(|| usize::from(terminal.size().1));
    layout(columns, records, width, &Style::new().bold())
}

fn layout(columns: &[String], records: &[Value], width: Option<usize>, heading: &Style) -> String {
    let mut columns: Vec<_> = columns.iter().map(|name| Column::of(name, records)).filter(|column| !column.is_empty()).collect();
    if let Some(width) = width {
        fit(&mut columns, width);
    }
    let row = |cell: &dyn Fn(&Column) -> String| columns.iter().map(cell).collect::<Vec<_>>().join(GAP).trim_end().to_owned();
    let names = row(&|column| column.padded(column.name));
    let rows = (0..records.len()).map(|index| row(&|column| column.padded(&column.cells[index])));
    once(heading.apply_to(names).to_string()).chain(rows).collect::<Vec<_>>().join("\n")
}

struct Column<'a> {
    name: &'a str,
    cells: Vec<String>,
    width: usize,
    alignment: Alignment,
    /// Whether a part of a text says something. Half an id says nothing, and half an instant the wrong thing.
    can_be_cut: bool,
}

impl<'a> Column<'a> {
    fn of(name: &'a str, records: &[Value]) -> Self {
        let values: Vec<&Value> = records.iter().map(|record| name.split('.').fold(record, |value, member| &value[member])).collect();
        let cells: Vec<_> = values.iter().map(|value| cell(value)).collect();
        let is_number = values.iter().all(|value| value.is_number() || value.is_null());
        Self {
            name,
            width: cells.iter().map(String::as_str).chain([name]).map(measure_text_width).max().unwrap_or_default(),
            alignment: if is_number { Alignment::Right } else { Alignment::Left },
            can_be_cut: !is_number && !cells.iter().any(|text| is_id(text)) && !values.iter().any(|value| is_instant(value)),
            cells,
        }
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    fn padded(&self, text: &str) -> String {
        pad_str(&truncate_str(text, self.width, "…"), self.width, self.alignment, None).into_owned()
    }
}

/// Makes the widest columns narrower until a row has this width.
fn fit(columns: &mut [Column<'_>], width: usize) {
    let gaps = GAP.len() * columns.len().saturating_sub(1);
    while columns.iter().map(|column| column.width).sum::<usize>() + gaps > width {
        let cuttable = columns.iter_mut().filter(|column| column.can_be_cut && column.width > LEAST);
        let Some(widest) = cuttable.max_by_key(|column| column.width) else { return };
        widest.width -= 1;
    }
}

/// `order_01h4…`: a word, and the 26 characters of a UUID; or the UUID.
fn is_id(text: &str) -> bool {
    Uuid::try_parse(text).is_ok()
        || text.rsplit_once('_').is_some_and(|(_, suffix)| suffix.len() == 26 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_instant(value: &Value) -> bool {
    value.as_str().is_some_and(|text| DateTime::parse_from_rfc3339(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(names: &[&str], records: &[Value], width: Option<usize>) -> String {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        layout(&names, records, width, &Style::new())
    }

    #[test]
    fn texts_begin_and_numbers_end_in_one_column() {
        let records = [json!({ "name": "Zürich", "count": 5, "none": null }), json!({ "name": "Rom", "count": 1234, "at": { "x": 1 } })];
        assert_eq!(columns(&records), ["name", "count", "none"]);
        assert_eq!(shown(&["name", "count", "none", "at.x"], &records, None), "name    count  at.x\nZürich      5\nRom      1234     1");
    }

    #[test]
    fn a_row_fits_the_terminal_and_ids_stay_whole() {
        let id = "webhook_01h455vb4pex5vsknk084sn02q";
        let records = [json!({ "id": id, "url": "https://shop.example/a/very/long/path/to/an/endpoint", "status": "enabled" })];
        let shown = shown(&["id", "url", "status"], &records, Some(70));
        let row = shown.lines().last().unwrap();
        assert_eq!((measure_text_width(row), row.starts_with(id), row.ends_with("…  enabled")), (70, true, true), "{shown}");
    }

    #[test]
    fn a_terminal_that_is_too_narrow_gets_the_ids_all_the_same() {
        let id = "webhook_01h455vb4pex5vsknk084sn02q";
        assert!(shown(&["id", "status"], &[json!({ "id": id, "status": "enabled" })], Some(20)).contains(id));
    }
}
