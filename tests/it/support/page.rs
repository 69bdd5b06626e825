//! Pages of the documentation, whose examples the stories run as written.

use serde_json::Value;

/// The first code block of a page in this language.
pub fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let blocks = page.split_once(&format!("```{language}\n")).and_then(|(_, rest)| rest.split_once("```"));
    blocks.expect("the page has such a block").0
}

/// The first JSON block below a heading of a page.
pub fn json_below(page: &str, heading: &str) -> Value {
    let (_, section) = page.split_once(&format!("## {heading}\n")).expect("the page has the heading");
    serde_json::from_str(block(section, "json")).unwrap()
}
