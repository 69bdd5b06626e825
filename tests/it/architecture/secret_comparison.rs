//! Secret digests are computed in one place and compared in one place; their type has no `==` (decisions, sections 2 and 4).

use crate::architecture::sources::sources;

/// A text, and the files below `src` that may contain it.
const PLACES: &[(&str, &[&str])] = &[
    ("subtle::", &["kernel/crypto/digest.rs"]),
    // The command that receives webhooks acts as a subscriber, which has none of the service's code.
    ("hmac::{", &["dev/receive/verify/mod.rs", "kernel/crypto/mac.rs"]),
    ("verify_slice(", &["dev/receive/verify/mod.rs"]),
];

#[test]
fn secrets_are_judged_by_one_comparison() {
    let files = sources();
    for (word, places) in PLACES {
        let found: Vec<_> = files.iter().filter(|file| file.text.contains(word)).map(|file| file.path.as_str()).collect();
        assert_eq!(found, *places, "{word}");
    }
}
