//! A connection on which no statement lasts for ever.
//!
//! The server ends a statement that takes longer than its time. A server that is gone does not, and TCP alone would notice after many
//! minutes: therefore every statement also has a deadline here. A connection whose statement has missed it, or whose caller has gone
//! away in the middle of one, is dropped without a farewell. The server sees that at once and ends the statement.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use deadpool::managed::Object;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{AssertSqlSafe, Describe, Either, Execute, Executor, PgConnection, Postgres, SqlStr};
use tokio::runtime::Handle;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::kernel::clock::ServerClock;
use crate::kernel::database::connector::Connector;
use crate::kernel::database::is_unavailable;
use crate::kernel::database::looked_at::LookedAt;
use crate::kernel::database::metrics::Metrics;
use crate::kernel::database::transaction::Transaction;

/// How much longer than the server the client waits for the end of a statement.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time of a statement on a connection that is patient. It is there for a server that is gone.
const LONG: Duration = Duration::from_secs(60 * 60);

/// Only dropping the connection takes it away.
const LIVE: &str = "the connection is there until it is dropped";

/// A connection of a [`Pool`](super::Pool), which gets it back when it is dropped.
#[derive(Debug)]
pub struct Connection {
    live: Option<Object<Connector>>,
    clock: ServerClock,
    metrics: Metrics,
    statement_timeout: Duration,
    /// What each transaction sets, if a pooler gives each some session. For the same reason nothing is prepared then, and a statement alone
    /// has a transaction of its own: `sqlx` sends it in two parts.
    settings_of_transactions: Option<Arc<str>>,
    /// Statements may take long here, which the next user does not want.
    patient: bool,
    /// A statement has begun, and its end is not known.
    interrupted: bool,
    /// How many transactions are open, one within the other.
    pub(super) depth: usize,
    /// The transaction of this depth, and those within it, were given up. They are rolled back before the next statement.
    pub(super) given_up: Option<usize>,
}

impl Connection {
    pub(super) fn new(
        live: Object<Connector>,
        clock: ServerClock,
        statement_timeout: Duration,
        settings_of_transactions: Option<Arc<str>>,
        metrics: Metrics,
    ) -> Self {
        Self {
            live: Some(live),
            clock,
            metrics,
            statement_timeout,
            settings_of_transactions,
            patient: false,
            interrupted: false,
            depth: 0,
            given_up: None,
        }
    }

    /// Until when, by the clock of the server, the answer to a statement that is sent now is waited for.
    pub fn answer_by(&self) -> DateTime<Utc> {
        self.clock.now() + self.limit()
    }

    /// Begins a transaction; within one, a savepoint.
    pub fn begin(&mut self) -> BoxFuture<'_, Result<Transaction<'_>, sqlx::Error>> {
        self.begin_with("begin")
    }

    /// Begins a transaction with this statement.
    pub fn begin_with(&mut self, statement: &'static str) -> BoxFuture<'_, Result<Transaction<'_>, sqlx::Error>> {
        Box::pin(Transaction::begin(self, statement))
    }

    pub(super) async fn be_patient(&mut self) -> Result<(), sqlx::Error> {
        self.patient = true;
        self.command(format!("set statement_timeout = {}", LONG.as_millis())).await?;
        self.statement_timeout = LONG;
        Ok(())
    }

    /// The command that begins a transaction, with what each sets.
    pub(super) fn opening(&self, begin: &str) -> String {
        self.settings_of_transactions.as_ref().map_or_else(|| begin.to_owned(), |settings| format!("{begin}; {settings}"))
    }

    /// Runs a command without parameters and results.
    pub(super) async fn command(&mut self, sql: String) -> Result<(), sqlx::Error> {
        self.execute(AssertSqlSafe(sql)).await.map(drop)
    }

    /// All results of a statement.
    pub(super) async fn run<'q, E>(&mut self, query: E) -> Result<Vec<Either<PgQueryResult, PgRow>>, sqlx::Error>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        self.answer(query, async |conn, query| conn.fetch_many(query).try_collect().await).await
    }

    /// Runs a query. Behind a pooler that takes a transaction, which is its own if none is open.
    async fn answer<'q, T>(
        &mut self,
        query: impl Execute<'q, Postgres>,
        run: impl AsyncFnOnce(&mut PgConnection, LookedAt) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let query = LookedAt::new(query)?;
        if self.settings_of_transactions.is_none() {
            return self.measured(query, run).await;
        }
        if self.depth > 0 {
            return self.measured(query.once(), run).await;
        }
        let mut transaction = self.begin().await?;
        match transaction.measured(query.once(), run).await {
            Ok(done) => transaction.commit().await.map(|()| done),
            Err(error) => {
                // Why the statement failed says more than why that does.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    }

    async fn measured<T>(
        &mut self,
        query: LookedAt,
        run: impl AsyncFnOnce(&mut PgConnection, LookedAt) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let metrics = self.metrics.clone();
        let measured = metrics.begin(query.text().as_str());
        let done = self.in_time(async |conn| run(conn, query).await).await;
        measured.end(done.as_ref().err());
        done
    }

    async fn in_time<T>(&mut self, run: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        let done = timeout(self.limit(), async { run(self.ready().await?).await }).await;
        self.finish(done)
    }

    pub(super) fn limit(&self) -> Duration {
        self.statement_timeout + PATIENCE
    }

    /// The connection, for one statement; [`Connection::finish`] must know its end.
    pub(super) async fn ready(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        if self.interrupted {
            return Err(lost(io::ErrorKind::BrokenPipe, "an earlier statement of the connection was interrupted".to_owned()));
        }
        self.interrupted = true;
        let live = &mut **self.live.as_mut().expect(LIVE);
        if let Some(depth) = self.given_up {
            live.execute(AssertSqlSafe(roll_back(depth))).await?;
            self.given_up = None;
        }
        Ok(live)
    }

    async fn roll_back(&mut self, depth: usize) -> Result<(), sqlx::Error> {
        let live = &mut **self.live.as_mut().expect(LIVE);
        let done = timeout(self.statement_timeout + PATIENCE, live.execute(AssertSqlSafe(roll_back(depth)))).await;
        self.finish(done).map(drop)
    }

    /// A statement has succeeded.
    pub(super) fn is_usable_again(&mut self) {
        self.interrupted = false;
    }

    fn is_not_for_others(&mut self) {
        self.interrupted = true;
    }

    /// A statement has ended: the connection can be used again, unless it is the connection that has failed.
    fn finish<T>(&mut self, done: Result<Result<T, sqlx::Error>, Elapsed>) -> Result<T, sqlx::Error> {
        let is_silent = done.is_err();
        let missed = |_| Err(lost(io::ErrorKind::TimedOut, format!("the database did not answer within {} s", self.limit().as_secs())));
        let done = done.unwrap_or_else(missed);
        self.interrupted = done.as_ref().err().is_some_and(is_unavailable);
        if self.interrupted {
            let note = if is_silent { Connector::note_silence } else { Connector::note_loss };
            Object::pool(self.live.as_ref().expect(LIVE)).iter().for_each(|pool| note(pool.manager()));
        }
        done
    }
}

/// The results of a statement, as `sqlx` wants them.
pub(super) fn one_by_one<'e, T: Send + 'e>(
    results: impl Future<Output = Result<Vec<T>, sqlx::Error>> + Send + 'e,
) -> BoxStream<'e, Result<T, sqlx::Error>> {
    stream::once(results).map_ok(|results| stream::iter(results.into_iter().map(Ok))).try_flatten().boxed()
}

/// The statement that ends the transaction of this depth, and those within it.
pub(super) fn roll_back(depth: usize) -> String {
    match depth {
        1 => "rollback".to_owned(),
        _ => format!("rollback to savepoint inner_{depth}"),
    }
}

fn lost(kind: io::ErrorKind, text: String) -> sqlx::Error {
    sqlx::Error::Io(io::Error::new(kind, text))
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else { return };
        match (self.given_up, Handle::try_current()) {
            (None, _) if !self.interrupted && !self.patient => drop(live),
            (Some(depth), Ok(runtime)) if !self.interrupted && !self.patient => {
                // Until the rollback has succeeded, it is not for others.
                let mut leaving = Self {
                    live: Some(live),
                    given_up: None,
                    interrupted: true,
                    clock: self.clock.clone(),
                    metrics: self.metrics.clone(),
                    settings_of_transactions: self.settings_of_transactions.clone(),
                    ..*self
                };
                runtime.spawn(async move {
                    if leaving.roll_back(depth).await.is_err() {
                        leaving.is_not_for_others();
                    }
                });
            }
            _ => drop(Object::take(live)),
        }
    }
}

impl<'c> Executor<'c> for &'c mut Connection {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        one_by_one(self.run(query))
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        Box::pin(self.answer(query, async |conn, query| conn.fetch_optional(query).await))
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(self.in_time(async move |conn| conn.prepare_with(sql, parameters).await))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'c: 'e,
    {
        Box::pin(self.in_time(async move |conn| conn.describe(sql).await))
    }
}
