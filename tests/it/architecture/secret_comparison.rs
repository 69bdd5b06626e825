//! Secret digests are computed in one place and compared in one place; their type has no `==` (decisions, sections 2 and 4).

use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::floors::sources;

/// A text, and the files below `src` that may contain it.
const PLACES: &[(&str, &[&str])] = &[
    ("subtle::", &["kernel/crypto/digest.rs"]),
    // The command that receives webhooks acts as a subscriber, which has none of the service's code.
    ("hmac::{", &["dev/receive/verify/mod.rs", "kernel/crypto/mac.rs"]),
    ("verify_slice(", &["dev/receive/verify/mod.rs"]),
];

#[test]
fn secrets_are_judged_by_one_comparison() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    files.sort_unstable();
    for (word, places) in PLACES {
        let uses = |file: &&PathBuf| fs::read_to_string(file).unwrap().contains(word);
        let found: Vec<_> = files.iter().filter(uses).map(|file| file.strip_prefix(&src).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, *places, "{word}");
    }
}
