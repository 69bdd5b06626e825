//! The source files, statements in files of their own among them, the migrations, and what they name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A file below `src`.
pub struct Source {
    /// Its path below `src`: `fleet/orders/status.rs`.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// All source files below `src`, in the order of their paths.
pub fn sources() -> Vec<Source> {
    files("rs")
}

/// The statements that stand in files of their own, without their comments, in the order of their paths.
pub fn statement_files() -> Vec<Source> {
    files("sql").into_iter().map(|Source { path, text }| Source { path, text: without_remarks(&text) }).collect()
}

/// The files below `src` whose names end with this extension.
fn files(extension: &str) -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, extension, &mut files);
    files.sort_unstable();
    let read = |file: PathBuf| Source {
        path: file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned(),
        text: fs::read_to_string(&file).unwrap(),
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|its| its == extension) {
            found.push(path);
        }
    }
}

/// The text of each migration by the name of its file.
pub fn migrations() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let files =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).filter(|file| file.extension().is_some_and(|it| it == "sql"));
    files.map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&file).unwrap())).collect()
}

/// The paths that the code names after `prefix`, with groups taken apart: `crate::{dev, storefront::{self, Store}}` names `dev`,
/// `storefront::self` and `storefront::Store` after `crate::`. Comments are left out.
pub fn paths_after(text: &str, prefix: &str) -> Vec<String> {
    renamed_paths_after(text, prefix).into_iter().map(|(path, _)| path).collect()
}

/// The same, each with the name that it has from there on: `Store as Shop` names `Store`, to be called `Shop`.
pub fn renamed_paths_after(text: &str, prefix: &str) -> Vec<(String, String)> {
    without_comments(text).split(prefix).skip(1).flat_map(spelled_out).collect()
}

/// The text without the lines that are comments.
pub fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// SQL without the lines that are comments.
pub fn without_remarks(sql: &str) -> String {
    sql.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n")
}

/// The paths that a path with groups stands for, each with the name that it gives.
fn spelled_out(path: &str) -> Vec<(String, String)> {
    let path = path.trim_start();
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(path.len());
    let (head, rest) = path.split_at(end);
    match rest.strip_prefix('{') {
        Some(group) if head.is_empty() || head.ends_with("::") => {
            members(group).into_iter().flat_map(spelled_out).map(|(tail, name)| (format!("{head}{tail}"), name)).collect()
        }
        _ if head.is_empty() => Vec::new(),
        _ => {
            let head = head.trim_end_matches(':');
            let own = head.rsplit("::").next().unwrap_or_default();
            let name = rest
                .strip_prefix(" as ")
                .map_or(own, |after| after.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(own));
            vec![(head.to_owned(), name.to_owned())]
        }
    }
}

/// The members of a group, which may extend over several lines; `group` starts behind its opening brace.
fn members(group: &str) -> Vec<&str> {
    let mut depth = nesting('{', '}');
    let group = &group[..group.find(|c| depth(c) < 0).expect("the group ends")];
    let mut depth = nesting('{', '}');
    group.split(|c| depth(c) == 0 && c == ',').collect()
}

/// The depth of these brackets after each character.
pub fn nesting(opening: char, closing: char) -> impl FnMut(char) -> i32 {
    let mut depth = 0;
    move |c| {
        depth += i32::from(c == opening) - i32::from(c == closing);
        depth
    }
}

#[test]
fn groups_of_paths_are_taken_apart() {
    let paths = |text| paths_after(text, "crate::");
    assert_eq!(
        paths("use crate::webhooks::Webhooks;\n// use crate::fleet;\nlet a = crate::kernel::b();"),
        ["webhooks::Webhooks", "kernel::b"]
    );
    assert_eq!(paths("use crate::{dev, storefront};"), ["dev", "storefront"]);
    let lines =
        "use crate::{\n    kernel::{clock::Clock, ids},\n    // The shop.\n    storefront::{\n        Store,\n    },\n};\nfn a() {}";
    assert_eq!(renamed_paths_after("pub use a::{B as C, d};", "use "), [("a::B".into(), "C".into()), ("a::d".into(), "d".into())]);
    assert_eq!(paths(lines), ["kernel::clock::Clock", "kernel::ids", "storefront::Store"]);
}
