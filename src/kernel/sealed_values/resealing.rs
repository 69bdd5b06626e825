//! Seals the values of a column again, while they are used.
//!
//! Nothing is remembered between two batches but the place: each value says by itself whether it is done. So it can be stopped at any
//! moment, and whoever begins again passes over what is done. A value that somebody changes meanwhile is left as it is. Whoever changed it
//! has sealed it under the key that they have, and the next walk takes it if that is another one.

use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::kernel::crypto::{ApplicationKey, CannotOpen, Fingerprint};
use crate::kernel::database::Pool;
use crate::kernel::sealed_values::SealedColumn;
use crate::kernel::sealed_values::queries::{self, SealedAgain};
use crate::kernel::sealed_values::walk::Walk;

/// A walk through the values of a column.
pub struct Resealing<'a> {
    walk: Walk<'a>,
    key: &'a ApplicationKey,
}

/// What became of some values.
#[derive(Debug, Default)]
pub struct Batch {
    /// How many there are.
    pub values: u64,
    /// How many are sealed under the key now, and were not before.
    pub resealed: u64,
    /// How many somebody was changing.
    pub passed_over: u64,
    /// The rows whose value none of the keys opens, or not for the address that the row names.
    pub lost: Vec<Uuid>,
}

impl<'a> Resealing<'a> {
    /// A walk from the beginning.
    pub fn new(pool: &'a Pool, key: &'a ApplicationKey, column: SealedColumn) -> Self {
        Self { walk: Walk::new(pool, column), key }
    }

    /// How many values there are.
    pub async fn count(&self) -> Result<u64, sqlx::Error> {
        let count = queries::count(&mut self.walk.pool.acquire().await?, &self.walk.column).await?;
        Ok(count.try_into().unwrap_or_default())
    }

    /// Seals the next values again; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Batch>, sqlx::Error> {
        let values = self.walk.next().await?;
        if values.is_empty() {
            return Ok(None);
        }
        let mut batch = Batch { values: values.len() as u64, ..Batch::default() };
        let mut again = Vec::new();
        for value in values {
            match value.open(self.key) {
                Err(CannotOpen) => batch.lost.push(value.id),
                Ok((_, key, _)) if self.is_done(key, &value.sealed) => {}
                Ok((context, _, secret)) => {
                    let sealed = self.key.seal(context, secret.expose_secret());
                    again.push(SealedAgain { id: value.id, before: value.sealed, sealed });
                }
            }
        }
        if !again.is_empty() {
            batch.resealed = queries::replace(&mut self.walk.pool.acquire().await?, &self.walk.column, &again).await?;
            batch.passed_over = again.len() as u64 - batch.resealed;
        }
        Ok(Some(batch))
    }

    /// Whether the value is sealed under the key, and says so. Those of earlier versions do not.
    fn is_done(&self, key: Fingerprint, sealed: &[u8]) -> bool {
        let current = self.key.fingerprint();
        key == current && Fingerprint::of_sealed(sealed) == Some(current)
    }
}
