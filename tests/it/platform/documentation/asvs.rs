//! The page about the ASVS names tests, and each of them exists.

use std::fs;

/// Whether a story, such as `storefront::codes::a_code_lives_ten_minutes`, or a room of stories, such as `storefront::lockouts`, exists.
fn exists(name: &str) -> bool {
    let path = format!("tests/it/{}", name.replace("::", "/"));
    if fs::exists(format!("{path}.rs")).unwrap() || fs::exists(&path).unwrap() {
        return true;
    }
    let Some((room, story)) = path.rsplit_once('/') else { return false };
    [format!("{room}.rs"), format!("{room}/mod.rs")].iter().any(|file| {
        let source = fs::read_to_string(file).unwrap_or_default();
        source.contains(&format!("fn {story}("))
    })
}

#[test]
fn each_test_that_meets_a_requirement_exists() {
    let page = fs::read_to_string("docs/asvs.md").unwrap();
    let names: Vec<_> = page.split('`').skip(1).step_by(2).filter(|code| code.contains("::")).collect();
    assert!(names.len() > 40, "the page names tests");
    let missing: Vec<_> = names.into_iter().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}
