//! Taking a callback in: verified, recorded once, processed, all in one transaction.

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::gateways::Gateways;
use crate::gateways::accounts::Found;
use crate::gateways::callbacks::process::tell;
use crate::gateways::callbacks::queries::{self, NewCallback, Open};
use crate::gateways::callbacks::receive::Taken;
use crate::gateways::callbacks::refusal::{Refusal, key_of};
use crate::gateways::callbacks::retry::{self, Failure};
use crate::gateways::callbacks::{Status, process};
use crate::gateways::driver::{Incoming, NotUnderstood, Reading, Telling};
use crate::kernel::ids::CallbackId;
use crate::kernel::json;
use crate::kernel::problem::{Problem, ProblemCode};

/// The longest id and type that are taken as they are.
const LONGEST_WORD: usize = 255;

impl Gateways {
    /// Takes in what says that it is from `found`.
    pub(super) async fn take(&self, found: Found, headers: &HeaderMap, body: &[u8]) -> Result<Taken, Problem> {
        let now = self.clock.now();
        if let Err(why) = found.driver.verify(&found.account, &Incoming { headers, body, now }) {
            return Err(self.refuse(found.company, Some(found.id), Refusal::NotGenuine(why), body).await?);
        }
        let genuine = Genuine::read(&found, body);
        match self.record(&found, &genuine, body, now).await {
            Ok(taken) => taken.map_err(|not_understood| not_understood.into()),
            // What was genuine is kept even when processing it failed on our side. If it cannot be kept either, the gateway sends it again.
            Err(error) => {
                let failure = Failure::of(&error)?;
                let failed = genuine.as_new(&found, body, now, Err(&failure));
                queries::insert_callback(&mut *self.pool.acquire().await?, &failed, now).await?;
                Ok(Taken::Received)
            }
        }
    }

    async fn record(
        &self,
        found: &Found,
        genuine: &Genuine,
        body: &[u8],
        now: DateTime<Utc>,
    ) -> Result<Result<Taken, NotUnderstood>, sqlx::Error> {
        let mut transaction = self.pool.begin().await?;
        let told = genuine.told.as_ref().map_err(|not_understood| Failure::from(not_understood.clone()));
        let new = genuine.as_new(found, body, now, told.as_ref().map(|telling| telling.is_some()));
        let taken = if queries::insert_callback(&mut transaction, &new, now).await? {
            if let Ok(Some(telling)) = &genuine.told {
                tell(&mut transaction, found, new.id, &genuine.key, telling.clone(), now).await?;
            }
            genuine.told.clone().map(|telling| if telling.is_some() { Taken::Received } else { Taken::Ignored })
        } else {
            match queries::lock_failed(&mut transaction, found.id, &genuine.key).await? {
                Some(open) => self.repeat(&mut transaction, found, open, now).await?,
                None => Ok(Taken::Repeated),
            }
        };
        transaction.commit().await?;
        Ok(taken)
    }

    /// It is here, and could not be processed so far: another try, with the gateway's settings as they are now.
    async fn repeat(
        &self,
        conn: &mut sqlx::PgConnection,
        found: &Found,
        open: Open,
        now: DateTime<Utc>,
    ) -> Result<Result<Taken, NotUnderstood>, sqlx::Error> {
        let told = process::again(conn, found, &open, now).await?;
        Ok(told.map(|_| Taken::Received))
    }
}

/// A callback that was verified.
#[derive(Debug)]
pub(super) struct Genuine {
    /// What it is told apart by.
    pub(super) key: String,
    kind: Option<String>,
    /// What it tells.
    pub(super) told: Result<Option<Telling>, NotUnderstood>,
}

impl Genuine {
    /// Reads what was verified, now or when it came.
    pub(super) fn read(found: &Found, body: &[u8]) -> Self {
        let Ok(value) = json::parse::<Value>(body) else {
            let told = Err(NotUnderstood("The body is not valid JSON.".to_owned()));
            return Self { key: key_of(body), kind: None, told };
        };
        let Reading { id, kind, told } = found.driver.read(&found.account, &value);
        let short = |word: &String| word.len() <= LONGEST_WORD;
        let told = told.and_then(|telling| match telling {
            Some(telling) if !short(&telling.transaction) => Err(NotUnderstood("The name of the transaction is too long.".to_owned())),
            telling => Ok(telling),
        });
        Self { key: id.filter(short).unwrap_or_else(|| key_of(body)), kind: kind.filter(short), told }
    }

    /// The row: `outcome` says whether it tells anything, or why it could not be processed.
    fn as_new<'a>(&'a self, found: &Found, body: &'a [u8], now: DateTime<Utc>, outcome: Result<bool, &'a Failure>) -> NewCallback<'a> {
        let (status, failure) = match outcome {
            Ok(true) => (Status::Processed, None),
            Ok(false) => (Status::Ignored, None),
            Err(failure) => (Status::Failed, Some(failure)),
        };
        NewCallback {
            id: CallbackId::new(now),
            company: found.company,
            gateway: Some(found.id),
            key: &self.key,
            kind: self.kind.as_deref(),
            status,
            reason: failure.map(|failure| failure.reason),
            detail: failure.map(|failure| failure.detail.as_str()),
            body,
            body_size: body.len(),
            due_at: failure.and_then(|_| retry::next_attempt(1, now)),
        }
    }
}

impl From<NotUnderstood> for Problem {
    fn from(not_understood: NotUnderstood) -> Self {
        Self::new(ProblemCode::CallbackNotUnderstood).detail(not_understood.to_string())
    }
}
