//! What a kind of record reaches is asked of the kind as a whole (`Resource::require`): its area alone is a part of it.

use crate::architecture::sources::sources;

#[test]
fn no_code_asks_for_the_area_of_a_kind_alone() {
    let parts = ["::AREA", "::READING", "::WRITING", "::WRITING_REACHES"];
    let outside = sources().into_iter().filter(|source| !source.path.starts_with("resources/kind/"));
    let found: Vec<_> = outside.filter(|source| parts.iter().any(|part| source.text.contains(part))).map(|source| source.path).collect();
    assert_eq!(found, Vec::<String>::new());
}
