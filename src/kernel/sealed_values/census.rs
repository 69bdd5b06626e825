//! Counts the values by the key that opens them. It opens every value: what a value says of its key proves nothing.

use std::collections::BTreeMap;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Fingerprint};
use crate::kernel::database::Pool;
use crate::kernel::sealed_values::SealedColumn;
use crate::kernel::sealed_values::walk::Walk;

/// How many values are sealed under which key.
#[derive(Debug, Default)]
pub struct Census {
    /// Those that one of the keys opens.
    pub by_key: BTreeMap<Fingerprint, u64>,
    /// Those that none of the keys opens for their rows and the addresses there, by what they are.
    pub lost: BTreeMap<&'static str, u64>,
}

/// Counts the values of these columns.
pub async fn count(pool: &Pool, key: &ApplicationKey, columns: &[SealedColumn]) -> Result<Census, sqlx::Error> {
    let mut census = Census::default();
    for column in columns {
        let mut walk = Walk::new(pool, *column);
        loop {
            let values = walk.next().await?;
            if values.is_empty() {
                break;
            }
            for value in values {
                let counted = match value.open(key) {
                    Ok((_, fingerprint, _)) => census.by_key.entry(fingerprint).or_default(),
                    Err(CannotOpen) => census.lost.entry(column.content).or_default(),
                };
                *counted += 1;
            }
        }
    }
    Ok(census)
}
