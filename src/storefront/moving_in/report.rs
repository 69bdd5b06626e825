//! What became of the lines.

use serde_json::{Map, Value, json};

use crate::kernel::openapi::object;
use crate::members;
use crate::storefront::moving_in::line::Refusal;

/// What became of the lines that were given so far.
#[derive(Debug, Default)]
pub struct Report {
    /// Customers that are there now; in a dry run, those that would be.
    pub created: u64,
    /// Lines whose external id was known: nothing was changed.
    pub known: u64,
    /// Lines that were not taken, by their number in the file, with the reasons.
    pub refused: Vec<(u64, Refusal)>,
    /// Whether nothing was stored.
    pub dry_run: bool,
}

impl Report {
    /// The JSON schema of [`Self::present`].
    pub fn schema() -> Value {
        let count = |description: &str| json!({ "type": "integer", "description": description });
        let reasons = json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "string" } } });
        let refused = object([("line", count("The number of the line, from 1.")), ("reasons", reasons)]);
        object([
            ("created", count("Customers that are there now; in a dry run, those that would be.")),
            ("known", count("Lines whose external id was known. Nothing was changed.")),
            ("refused", json!({ "type": "array", "items": refused })),
            ("dry_run", json!({ "type": "boolean", "description": "Whether nothing was stored." })),
        ])
    }

    /// The report as responses and `--json` show it.
    pub fn present(&self) -> Map<String, Value> {
        let refused = self.refused.iter().map(|(line, refusal)| json!({ "line": line, "reasons": refusal.reasons() }));
        members! {
            "created": self.created,
            "known": self.known,
            "refused": refused.collect::<Vec<_>>(),
            "dry_run": self.dry_run,
        }
    }

    pub(super) fn refuse(&mut self, line: u64, refusal: Refusal) {
        self.refused.push((line, refusal));
    }
}
