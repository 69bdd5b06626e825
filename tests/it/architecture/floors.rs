//! The floors of the architecture and the rooms of each capability: imports point down only.
//!
//! Both orders are read from the essays that show them: the floors from `src/lib.rs`, the rooms of a folder from its `mod.rs`.

use std::collections::BTreeMap;

use crate::architecture::sources::{Source, paths_after, renamed_paths_after, sources};

/// The folders whose rooms have no order: they are toolboxes, and only the floors are checked.
const WITHOUT_ORDER: &[&str] = &["app", "cli", "contact", "dev", "kernel", "providers"];

/// Names in their order from top to bottom; those of one level do not use each other.
#[derive(Debug, PartialEq)]
struct Order(Vec<Vec<String>>);

impl Order {
    /// Reads the first picture behind `heading` in the module documentation of `text`. A line names one level: single words, separated
    /// by two spaces or more, then a description. The number of a floor may come first; a line that begins with a space continues
    /// the description above it.
    fn drawn(text: &str, heading: &str) -> Option<Self> {
        let mut lines = text.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.find(|line| *line == heading)?;
        let picture = lines.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```");
        let level = |line: &str| {
            let words = line.split("  ").map(str::trim).filter(|word| !word.is_empty() && word.parse::<u32>().is_err());
            words.take_while(|word| !word.contains(' ')).map(str::to_owned).collect::<Vec<_>>()
        };
        Some(Self(picture.map(level).filter(|level| !level.is_empty()).collect()))
    }

    fn level(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|level| level.iter().any(|other| other == name))
    }

    /// Whether `user` may use `used`: it stands below.
    fn allows(&self, user: &str, used: &str) -> bool {
        user == used || self.level(user) < self.level(used)
    }

    /// What is wrong with the picture, given the names that exist.
    fn faults(&self, exist: &[&str]) -> Vec<String> {
        let drawn: Vec<_> = self.0.iter().flatten().map(String::as_str).collect();
        let missing = exist.iter().filter(|name| !drawn.contains(name)).map(|name| format!("`{name}` is missing in the picture"));
        let unknown = drawn.iter().filter(|name| !exist.contains(name)).map(|name| format!("`{name}` in the picture does not exist"));
        let twice = drawn.iter().enumerate().filter(|(index, name)| drawn[..*index].contains(name));
        missing.chain(unknown).chain(twice.map(|(_, name)| format!("`{name}` stands twice in the picture"))).collect()
    }
}

/// The first part of a path: `fleet` of `fleet/orders.rs`, `serve` of `serve.rs`.
fn first_part(path: &str) -> &str {
    path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The imports between folders that do not point down.
fn imports_up(sources: &[Source]) -> Vec<String> {
    let lib = sources.iter().find(|source| source.path == "lib.rs").expect("the crate has a root");
    let floors = Order::drawn(&lib.text, "# Floors").expect("src/lib.rs shows the floors");
    let folders = distinct(sources.iter().map(|source| first_part(&source.path)).filter(|folder| *folder != "lib"));
    let mut wrong = floors.faults(&folders);
    for source in sources.iter().filter(|source| source.path != "lib.rs") {
        let folder = first_part(&source.path);
        for path in paths_after(&source.text, "crate::").iter().chain(&paths_after(&source.text, "portico::")) {
            let used = path.split("::").next().unwrap_or_default();
            if folders.contains(&used) && !floors.allows(folder, used) {
                wrong.push(format!("`{}` uses `{used}`, which is not below it", source.path));
            }
        }
    }
    wrong
}

/// The rooms that a folder's face hands on, by the name under which it does: `pub use codes::issue::Code` makes `Code` a name of `codes`.
fn handed_on(face: &str, rooms: &[&str]) -> BTreeMap<String, String> {
    let paths = renamed_paths_after(face, "pub use ").into_iter().chain(renamed_paths_after(face, ") use "));
    let named = paths.map(|(path, name)| (name, first_part(&path.replace("::", "/")).to_owned()));
    named.filter(|(_, room)| rooms.contains(&room.as_str())).collect()
}

/// The imports within one folder that do not point down.
fn imports_up_within(folder: &str, sources: &[Source]) -> Vec<String> {
    let inside: Vec<_> = sources.iter().filter_map(|source| Some((source.path.strip_prefix(folder)?.strip_prefix('/')?, source))).collect();
    let rooms = distinct(inside.iter().map(|(path, _)| first_part(path)).filter(|room| *room != "mod"));
    let Some((_, face)) = inside.iter().find(|(path, _)| *path == "mod.rs") else { return vec![format!("`{folder}` has no mod.rs")] };
    let Some(order) = Order::drawn(&face.text, "# Rooms") else { return vec![format!("`{folder}/mod.rs` does not show its rooms")] };
    let handed_on = handed_on(&face.text, &rooms);
    let mut wrong: Vec<_> = order.faults(&rooms).into_iter().map(|fault| format!("{folder}: {fault}")).collect();
    for (path, source) in inside.iter().filter(|(path, _)| *path != "mod.rs") {
        let room = first_part(path);
        for used in paths_after(&source.text, &format!("crate::{folder}::")) {
            let name = used.split("::").next().unwrap_or_default();
            match rooms.iter().find(|room| **room == name).copied().or(handed_on.get(name).map(String::as_str)) {
                Some(used) if order.allows(room, used) => {}
                Some(used) => wrong.push(format!("`{}` uses `{folder}/{used}`, which is not below it", source.path)),
                None => wrong.push(format!("`{}` uses `{name}` of `{folder}/mod.rs`, which is above it", source.path)),
            }
        }
        if paths_after(&source.text, "super::").iter().any(|path| path != "*" && !path.is_empty()) {
            wrong.push(format!("`{}` names something by `super::`; `crate::{folder}::…` shows where it is", source.path));
        }
    }
    wrong
}

#[test]
fn imports_point_down_only() {
    assert_eq!(imports_up(&sources()), Vec::<String>::new());
}

#[test]
fn within_a_capability_imports_point_down_only() {
    let sources = sources();
    let folders = distinct(sources.iter().filter(|source| source.path.contains('/')).map(|source| first_part(&source.path)));
    let ordered = folders.iter().filter(|folder| !WITHOUT_ORDER.contains(folder));
    assert_eq!(ordered.flat_map(|folder| imports_up_within(folder, &sources)).collect::<Vec<_>>(), Vec::<String>::new());
}

/// A house with two floors; the upper one has three rooms.
fn small_house(planted: &str) -> Vec<Source> {
    let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
    vec![
        source(
            "lib.rs",
            "//! # Floors\n//!\n//! ```text\n//!  1   shop                what is for sale\n//!  0   kernel  words       the ground\n//! ```\n",
        ),
        source("kernel/mod.rs", "pub struct Clock;"),
        source("words.rs", "pub struct Word;"),
        source(
            "shop/mod.rs",
            "//! The shop.\n//!\n//! # Rooms\n//!\n//! ```text\n//! till            takes the money,\n//!                 all of it\n//! shelves  doors  hold and let in\n//! ```\npub use shelves::{Shelf, board::Board};\npub struct Shop;",
        ),
        source("shop/till.rs", "use crate::kernel::Clock;\nuse crate::shop::{Board, shelves};"),
        source("shop/shelves/mod.rs", planted),
        source("shop/doors.rs", "use crate::words::Word;"),
    ]
}

#[test]
fn a_planted_arrow_is_seen() {
    let faults = |planted: &str| {
        let house = small_house(planted);
        imports_up(&house).into_iter().chain(imports_up_within("shop", &house)).collect::<Vec<_>>()
    };
    assert_eq!(faults("use crate::kernel::Clock;\n// use crate::shop::till;"), Vec::<String>::new());
    assert_eq!(faults("use crate::shop::till::Till;"), ["`shop/shelves/mod.rs` uses `shop/till`, which is not below it"]);
    assert_eq!(faults("use crate::shop::doors::Door;"), ["`shop/shelves/mod.rs` uses `shop/doors`, which is not below it"]);
    assert_eq!(faults("use crate::shop::Shop;"), ["`shop/shelves/mod.rs` uses `Shop` of `shop/mod.rs`, which is above it"]);
    assert_eq!(faults("use super::Shop;").len(), 1);
    let mut house = small_house("");
    house[1].text = "use crate::shop::Shop;".to_owned();
    assert_eq!(imports_up(&house), ["`kernel/mod.rs` uses `shop`, which is not below it"]);
    house[1].text = "use crate::words;".to_owned();
    assert_eq!(imports_up(&house), ["`kernel/mod.rs` uses `words`, which is not below it"]);
    house.push(Source { path: "shop/cellar.rs".to_owned(), text: String::new() });
    assert_eq!(imports_up_within("shop", &house), ["shop: `cellar` is missing in the picture"]);
}
