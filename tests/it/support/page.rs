//! Pages of the documentation, whose examples the stories run as written.

use std::fs;
use std::path::Path;

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

/// The files in the first table of a guide, sorted. The guide states their number as `**3 files**`.
pub fn files_listed(page: &str) -> Vec<&str> {
    let rows = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1).take_while(|line| line.starts_with('|'));
    let mut files: Vec<_> = rows.map(|row| row.split('`').nth(1).expect("a row begins with a file")).collect();
    assert!(page.contains(&format!("**{} files**", files.len())), "the page states the number of its files, {}", files.len());
    files.sort_unstable();
    files
}

/// The files of the project below `roots` that contain one of `spellings`, sorted.
pub fn files_naming(roots: &[&str], spellings: &[&str]) -> Vec<String> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<_> = roots.iter().map(|root| project.join(root)).collect();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if fs::read_to_string(&path).is_ok_and(|text| spellings.iter().any(|spelling| text.contains(spelling))) {
            found.push(path.strip_prefix(project).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort_unstable();
    found
}

/// HTML text as it is read.
pub fn unescaped(html: &str) -> String {
    let pairs =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    pairs.iter().fold(html.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain)).replace("&amp;", "&")
}
