//! Nobody hands out more than they have: `Caller::must_cover` alone compares what lets somebody in with its giver.

use crate::architecture::sources::{sources, without_comments};

/// All that lets somebody in: the file below `src`, and what it hands out.
const GIVERS: &[(&str, &str)] = &[
    ("developers/api_keys/body.rs", "API keys"),
    ("developers/api_keys/roll.rs", "the successors of API keys"),
    ("developers/operators/body.rs", "operators, their roles, and a way back for those who were disabled"),
    ("operators/choosing_password.rs", "links to choose a password"),
    ("operators/mod.rs", "operators and passwords on the command line"),
    ("operators/totp/mod.rs", "a way in without the second factor"),
    ("portal/links.rs", "links to the portal"),
    ("portal/makers.rs", "the same, for as long as their maker may hand them out"),
];

/// The files below `src` that call something.
fn callers(call: &str) -> Vec<String> {
    let calling = sources().into_iter().filter(|source| without_comments(&source.text).contains(call));
    let mut files: Vec<_> = calling.map(|source| source.path).filter(|path| !path.starts_with("callers/")).collect();
    files.sort_unstable();
    files
}

#[test]
fn what_lets_somebody_in_is_compared_with_its_giver_in_one_place() {
    assert_eq!(callers(".must_cover("), GIVERS.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    assert_eq!(callers("escalation_over("), Vec::<String>::new());
}
