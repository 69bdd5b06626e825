//! Publishing with idempotency keys: each event is published once, however often the request is repeated.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::companies;
use crate::developers::publishing::body::Batch;
use crate::developers::publishing::{Published, Publishing, queries};
use crate::events;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::problem::{Problem, ProblemCode};

pub(super) const LIFETIME: TimeDelta = TimeDelta::hours(24);
/// The maximum number of attempts. An attempt fails when a concurrent request took one of the keys, so each failure leaves fewer
/// keys to take; legitimate clients do not cause this many conflicts.
const MAX_ATTEMPTS: usize = 5;

#[derive(Debug)]
pub(super) struct PublishedKey {
    pub(super) key: String,
    pub(super) digest: Vec<u8>,
    pub(super) event_id: EventId,
    pub(super) created_at: DateTime<Utc>,
}

impl Publishing {
    pub(super) async fn publish_once(&self, company: CompanyId, batch: &Batch) -> Result<Vec<Published>, Problem> {
        for _ in 0..MAX_ATTEMPTS {
            if let Some(published) = repeated(|| self.try_publish(company, batch)).await? {
                return Ok(published);
            }
        }
        Err(ProblemCode::Overloaded.into())
    }

    /// Returns `None`, with nothing published, if a concurrent request took one of the keys.
    async fn try_publish(&self, company: CompanyId, batch: &Batch) -> Result<Option<Vec<Published>>, Problem> {
        let mut transaction = self.developers.pool.begin().await?;
        let published = self.publish_unless_taken(&mut transaction, company, batch).await?;
        match published {
            Some(_) => transaction.commit().await?,
            None => transaction.rollback().await?,
        }
        Ok(published)
    }

    /// Returns `None` if a concurrent request took one of the keys; the transaction must then be rolled back.
    async fn publish_unless_taken(
        &self,
        conn: &mut Connection,
        company: CompanyId,
        batch: &Batch,
    ) -> Result<Option<Vec<Published>>, Problem> {
        let now = self.developers.clock.now();
        let texts: Vec<_> = batch.keys.iter().flatten().map(|key| key.text.clone()).collect();
        if !texts.is_empty() {
            // Where a company was, its keys are not.
            companies::must_be_open(conn, company).await?;
        }
        let kept = queries::list_keys(conn, company, &texts, now - LIFETIME).await?;
        let kept: HashMap<_, _> = kept.into_iter().map(|kept| (kept.key.clone(), kept)).collect();
        let mut published = Vec::with_capacity(batch.events.len());
        for (index, (event, key)) in batch.events.iter().zip(&batch.keys).enumerate() {
            let before = key.as_ref().and_then(|key| Some((key, kept.get(&key.text)?)));
            published.push(match before {
                None => None,
                Some((key, kept)) if key.is_of(&kept.digest) => {
                    Some(Published { id: kept.event_id, name: event.name.clone(), at: kept.created_at, repeated: true })
                }
                Some(_) => return Err(key_conflict(&batch.path(index, "idempotency_key"))),
            });
        }
        let new: Vec<_> = published.iter().enumerate().filter(|(_, published)| published.is_none()).map(|(index, _)| index).collect();
        if new.is_empty() {
            return Ok(published.into_iter().collect());
        }
        let events: Vec<_> = new.iter().map(|index| batch.events[*index].clone()).collect();
        let ids = events::publish_all(conn, &events, now).await?;
        let mut taken = queries::NewKeys::default();
        for (index, id) in new.into_iter().zip(ids) {
            if let Some(key) = &batch.keys[index] {
                taken.push(key, id);
            }
            published[index] = Some(Published { id, name: batch.events[index].name.clone(), at: now, repeated: false });
        }
        if queries::insert_keys(conn, company, &taken, now, now - LIFETIME).await? < taken.len() {
            return Ok(None);
        }
        Ok(published.into_iter().collect())
    }
}

fn key_conflict(path: &str) -> Problem {
    Problem::new(ProblemCode::IdempotencyKeyUsed).detail(format!("{path}: this key was used for another event in the last 24 hours."))
}
