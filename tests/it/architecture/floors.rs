//! The floors of the architecture: imports point down only.

use std::fs;
use std::path::{Path, PathBuf};

/// From bottom to top. A folder uses only folders on lower floors; folders on the same floor do not use each other.
const FLOORS: &[&[&str]] = &[
    &["kernel"],
    &["contact"],
    &["events", "companies", "operators", "providers"],
    &["resources"],
    &["webhooks"],
    &["storefront", "fleet", "gateways", "developers", "declared"],
    &["realtime"],
    &["console"],
    &["main", "cli", "serve", "bootstrap", "app", "config", "dev", "lib"],
];

fn floor_of(folder: &str) -> usize {
    let floor = FLOORS.iter().position(|floor| floor.contains(&folder));
    floor.unwrap_or_else(|| panic!("src/{folder} is on no floor: add it in {}", file!()))
}

pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The folders that a file names after `crate::`, anywhere in the code.
fn used_by(text: &str) -> Vec<String> {
    let code: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    // `use crate::kernel::clock` names one folder, `use crate::{dev, storefront::{self, Store}};` two.
    let paths = code.split("crate::").skip(1).flat_map(|after| after.strip_prefix('{').map_or(vec![after], members));
    paths.map(first_name).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The paths in a group, which may extend over several lines; `group` starts behind its opening brace.
fn members(group: &str) -> Vec<&str> {
    let mut depth = nesting();
    let group = &group[..group.find(|c| depth(c) < 0).expect("the group ends")];
    let mut depth = nesting();
    group.split(|c| depth(c) == 0 && c == ',').collect()
}

/// The depth of braces after each character.
fn nesting() -> impl FnMut(char) -> i32 {
    let mut depth = 0;
    move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth
    }
}

fn first_name(path: &str) -> &str {
    path.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

#[test]
fn imports_point_down_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        let folder = relative.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        let floor = floor_of(&folder);
        let top = FLOORS.len() - 1;
        for used in used_by(&fs::read_to_string(&file).unwrap()) {
            let known = FLOORS.iter().flat_map(|floor| floor.iter()).any(|known| *known == used);
            if known && used != folder && floor != top && floor_of(&used) >= floor {
                wrong.push(format!("`{}` uses `{used}`, which is not below it", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_upward_import_is_seen() {
    assert_eq!(used_by("use crate::webhooks::Webhooks;\n// use crate::fleet;\nlet a = crate::kernel::b();"), ["webhooks", "kernel"]);
    assert_eq!(used_by("use crate::{dev, storefront};"), ["dev", "storefront"]);
    let lines =
        "use crate::{\n    kernel::{clock::Clock, ids},\n    // The shop.\n    storefront::{\n        Store,\n    },\n};\nfn a() {}";
    assert_eq!(used_by(lines), ["kernel", "storefront"]);
}
