//! A member of a body, an answer or an event as a row, with the path of those within others.

use crate::console::docs::words::Words;
use crate::handbook::Field;

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// `payload.pickup`
    pub path: String,
    /// What it is.
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub sentence: Words,
    /// What a value must fulfil.
    pub limits: String,
    /// The possible values.
    pub choices: Vec<String>,
    /// What a missing member is.
    pub default: Option<String>,
}

/// The rows of these fields and of those within them.
pub(super) fn rows(fields: &[Field]) -> Vec<Row> {
    let mut rows = Vec::new();
    add(fields, "", &mut rows);
    rows
}

fn add(fields: &[Field], before: &str, rows: &mut Vec<Row>) {
    for field in fields {
        let path = format!("{before}{}", field.name);
        rows.push(Row {
            path: path.clone(),
            kind: field.kind.clone(),
            required: field.required,
            sentence: Words(field.sentence.clone()),
            limits: field.limits.join(", "),
            choices: field.choices.clone(),
            default: field.default.clone(),
        });
        let of_list = if field.kind.starts_with("list") { "[]" } else { "" };
        add(&field.members, &format!("{path}{of_list}."), rows);
    }
}
