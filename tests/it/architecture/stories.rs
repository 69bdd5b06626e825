//! Every story that `docs/reliability.md`, `docs/security.md` and `docs/asvs.md` name exists.

use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../docs/reliability.md");
const SECURITY: &str = concat!(include_str!("../../../docs/security.md"), include_str!("../../../docs/asvs.md"));

/// What a test begins with.
const TEST: [&str; 2] = ["#[test]", "#[tokio::test"];

/// The words in code quotes that name a story, as `module::story` or with its beginning as `module::beginning…`. Of the same module as the
/// one before it, a story is named `…::beginning…`.
fn stories(page: &str) -> Vec<String> {
    let quoted = page.split('`').skip(1).step_by(2).filter(|word| word.contains("::"));
    let mut named = Vec::<String>::new();
    for word in quoted {
        let full = match (word.strip_prefix("…::"), named.last().and_then(|last| last.rsplit_once("::"))) {
            (Some(story), Some((module, _))) => format!("{module}::{story}"),
            _ => word.to_owned(),
        };
        named.push(full);
    }
    named
}

/// The source file of a module of the tests, or of the program.
fn file(module: &str) -> Option<PathBuf> {
    let path = module.replace("::", "/");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests/it", "tests/real", "src"]
        .map(|folder| [root.join(folder).join(format!("{path}.rs")), root.join(folder).join(&path).join("mod.rs")]);
    files.into_iter().flatten().find(|file| file.exists())
}

/// Whether there is such a story: a test of this name or with this beginning, or a module with tests.
fn exists(story: &str) -> bool {
    let tests = |module: &str| {
        file(module).map(|file| fs::read_to_string(file).unwrap()).filter(|text| TEST.iter().any(|test| text.contains(test)))
    };
    if tests(story).is_some() {
        return true;
    }
    let Some((module, name)) = story.rsplit_once("::") else { return false };
    let beginning = name.strip_suffix('…').map_or_else(|| format!("fn {name}("), |beginning| format!("fn {beginning}"));
    tests(module).is_some_and(|text| text.contains(&beginning))
}

/// Whether there is a test of exactly this name, `module::test`.
pub fn is_test(story: &str) -> bool {
    let Some((module, name)) = story.rsplit_once("::") else { return false };
    file(module).is_some_and(|file| tests(&fs::read_to_string(file).unwrap()).contains(&name))
}

/// The names of the tests in a source file: of the functions behind what a test begins with.
fn tests(text: &str) -> Vec<&str> {
    let (mut found, mut begun) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        begun |= TEST.iter().any(|test| line.starts_with(test));
        if let Some(function) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            found.extend(function.split('(').next().filter(|_| begun));
            begun = false;
        }
    }
    found
}

#[test]
fn every_story_that_the_page_on_reliability_names_exists() {
    let named = stories(PAGE);
    assert!(named.len() > 40, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|story| !exists(story)).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn every_story_that_the_pages_on_security_name_exists() {
    let named = stories(SECURITY);
    assert!(named.len() > 60, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|story| !exists(story)).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn every_drill_is_named_by_the_page() {
    let drills = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/drills/mod.rs")).unwrap();
    let drills = drills.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';')).filter(|drill| *drill != "load");
    let unnamed: Vec<_> = drills.filter(|drill| !PAGE.contains(&format!("`drills::{drill}"))).collect();
    assert_eq!(unnamed, Vec::<&str>::new());
}

#[test]
fn a_planted_name_is_missed() {
    assert_eq!(stories("`a::b::c…`, `…::d` and `e f`"), ["a::b::c…", "a::b::d"]);
    assert!(exists("webhooks::crashes") && exists("webhooks::crashes::recording_twice_records_once"));
    assert!(exists("webhooks::crashes::recording_twice…") && exists("kernel::clock::server_clock"));
    assert!(!exists("webhooks::crashes::recording_twice") && !exists("webhooks::crashes::nothing…") && !exists("webhooks::nothing"));
}

#[test]
fn a_test_is_told_from_other_functions() {
    let text = "#[cfg(unix)]\n#[tokio::test]\nasync fn one() {}\nfn helper() {}\nmod tests {\n    #[test]\n    fn two() {}\n}\n";
    assert_eq!(tests(text), ["one", "two"]);
    assert!(
        is_test("webhooks::crashes::recording_twice_records_once") && is_test("architecture::stories::a_test_is_told_from_other_functions")
    );
    assert!(!is_test("webhooks::crashes::number") && !is_test("webhooks::crashes::recording_twice…") && !is_test("webhooks::crashes"));
}
