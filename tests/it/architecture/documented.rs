//! `docs/architecture.md` shows the floors of `src/lib.rs`, and every path in it exists.

use std::path::Path;

use crate::architecture::sources::sources;
use crate::support::page::block;

const PAGE: &str = include_str!("../../../docs/architecture.md");

/// The paths among the words in code quotes: what has a folder, and is no path of a URL.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    let is_path = |word: &&str| word.contains('/') && !word.starts_with('/') && !word.contains(char::is_whitespace);
    page.split('`').skip(1).step_by(2).filter(is_path)
}

/// The pages that a page links to.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()).filter(|page| !page.is_empty())
}

/// Each walk by its heading, with the rooms of its hops.
fn walks(page: &str) -> Vec<(&str, Vec<(&str, &str)>)> {
    let (_, walks) = page.split_once("\n## Walks\n").expect("the page has the walks");
    let walks = walks.split("\n## ").next().unwrap_or_default();
    walks
        .split("\n### ")
        .skip(1)
        .map(|walk| {
            let hops = walk.lines().filter_map(|line| {
                let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
                Some((cells.next()?, cells.next()?.strip_prefix('`')?.strip_suffix('`')?))
            });
            (walk.lines().next().unwrap_or_default(), hops.collect())
        })
        .collect()
}

#[test]
fn the_floors_are_those_of_the_crate() {
    let sources = sources();
    let lib = sources.iter().find(|source| source.path == "lib.rs").unwrap();
    let essay = lib.text.lines().map_while(|line| line.strip_prefix("//!"));
    let essay: String = essay.flat_map(|line| [line.strip_prefix(' ').unwrap_or(line), "\n"]).collect();
    assert_eq!(block(PAGE, "text"), block(&essay, "text"));
}

#[test]
fn every_path_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing: Vec<_> = paths(PAGE).filter(|path| !root.join(path).exists() && !root.join("src").join(path).exists()).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert!(paths(PAGE).count() > 80, "the paths were found");
    let missing: Vec<_> = links(PAGE).filter(|page| !root.join("docs").join(page).exists()).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn the_hops_of_each_walk_are_counted() {
    let walks = walks(PAGE);
    assert_eq!(walks.len(), 4);
    for (walk, hops) in walks {
        assert!(hops.len() > 5, "{walk}");
        for (place, (number, room)) in hops.iter().enumerate() {
            assert_eq!(*number, (place + 1).to_string(), "{walk}");
            assert!(hops[..place].iter().all(|(_, earlier)| earlier != room), "{walk}: {room} is entered twice");
        }
    }
}

#[test]
fn the_page_is_found_from_the_readme_and_the_crate() {
    let lib = sources().into_iter().find(|source| source.path == "lib.rs").unwrap().text;
    assert!(include_str!("../../../README.md").contains("](docs/architecture.md)"));
    assert!(lib.contains("`docs/architecture.md`"));
}
