//! What keeps a backup from being restored here. Each refusal says what to do.

use std::collections::BTreeSet;

use crate::cli::backups::manifest::Manifest;
use crate::kernel::crypto::ApplicationKey;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "the backup needs the application key {needed}, and the configured one is {configured}: set application_key to the key that the \
         backup was made with, or name that in previous_application_keys"
    )]
    OtherKey { needed: String, configured: String },
    #[error(
        "the backup has {count} migrations that this version does not know: restore it with Portico {made_by}, which made it, or with a \
         newer version"
    )]
    OlderProgram { count: usize, made_by: String },
    #[error(
        "the backup has records of {0}, which no file in extensions.directory declares: put the files back, or name the kinds in \
         extensions.retired"
    )]
    KindsMissing(String),
    #[error("the database has {0} tables and views already: create an empty one (createdb), and name it in database.url")]
    NotEmpty(i64),
    #[error("the dump is not the one that the manifest describes: it was changed or copied in part; use another copy of the backup")]
    OtherDump,
}

/// Whether this version, with this key and these kinds of records, can work with what is in the backup.
pub(super) fn judge(manifest: &Manifest, key: &ApplicationKey, kinds: &BTreeSet<String>, known: &[i64]) -> Result<(), Refusal> {
    let configured: BTreeSet<_> =
        std::iter::once(key.fingerprint()).chain(key.previous()).map(|fingerprint| fingerprint.to_string()).collect();
    let mut needed = std::iter::once(&manifest.application_key).chain(manifest.sealed.keys());
    if let Some(needed) = needed.find(|fingerprint| !configured.contains(*fingerprint)) {
        return Err(Refusal::OtherKey { needed: needed.clone(), configured: key.fingerprint().to_string() });
    }
    let unknown = manifest.migrations.iter().filter(|version| !known.contains(version)).count();
    if unknown > 0 {
        return Err(Refusal::OlderProgram { count: unknown, made_by: manifest.portico.clone() });
    }
    let missing: Vec<_> = manifest.kinds.iter().filter(|kind| !kinds.contains(*kind)).cloned().collect();
    if missing.is_empty() { Ok(()) } else { Err(Refusal::KindsMissing(missing.join(", "))) }
}
