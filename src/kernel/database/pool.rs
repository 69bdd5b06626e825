//! Pools of connections.
//!
//! A connection goes back to its pool at once, without a question to the server, so the next statement need not wait for an answer to it.
//! What was interrupted is not kept: see [`Connection`].

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use deadpool::managed::{self, PoolError, QueueMode, TimeoutType, Timeouts};
use deadpool::{Runtime, Status};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection as _, Describe, Either, Execute, Executor, Postgres, SqlStr};
use tokio::time::timeout;
use uuid::Uuid;

use crate::kernel::clock::Clock;
use crate::kernel::database::connection::{Connection, one_by_one};
use crate::kernel::database::connector::Connector;
use crate::kernel::database::metrics::{Metrics, Waits};
use crate::kernel::database::replica::Replica;
use crate::kernel::database::servers::Servers;
use crate::kernel::database::transaction::Transaction;

/// A connection that nobody has used for so long is closed.
const MAX_IDLE: Duration = Duration::from_secs(10 * 60);
/// How often idle connections are looked for.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);
/// How long a farewell to the server may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How many callers wait for each connection of a pool. More are refused at once: a queue that only grows helps nobody.
const MAX_WAITING_FOR_EACH: usize = 50;

/// What a pool allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of connections.
    pub connections: u32,
    /// How long a caller waits for a connection.
    pub acquire_timeout: Duration,
    /// How long a statement may take. The server ends it then. If the server does not answer shortly after, the connection is dropped.
    pub statement_timeout: Duration,
}

/// Connections to a database, opened when they are needed. Clones share them.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connections: managed::Pool<Connector>,
    /// The servers as they were given, without the settings that every session gets.
    servers: Servers,
    limits: Limits,
    tidied_at: Mutex<Instant>,
    name: &'static str,
    /// Of all pools of the database.
    metrics: Metrics,
    waits: Waits,
    /// What each transaction sets, if there is a pooler that gives it some session.
    settings_of_transactions: Option<Arc<str>>,
    companions: Companions,
    /// The standby that lists are read from, if there is one.
    replica: OnceLock<Replica>,
}

/// Further pools of the same database, for what a pool cannot do itself.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// The connections of the role that owns the tables, if that is another one.
    pub owner: Option<Pool>,
    /// Connections whose sessions last, if a pooler takes those of the pool away after each transaction.
    pub direct: Option<Pool>,
}

/// A pool as its metrics see it, which do not keep it.
#[derive(Debug)]
pub struct Observed(Weak<Inner>);

impl Observed {
    /// The name and the connections of the pool; `None` if it is gone.
    pub(super) fn status(&self) -> Option<(&'static str, Status)> {
        self.0.upgrade().map(|pool| (pool.name, pool.connections.status()))
    }
}

impl Pool {
    /// A pool that connects on first use, so that the program starts, and reports the failure, while the database is unavailable.
    pub fn new(servers: Servers, limits: Limits) -> Self {
        Self::named("requests", servers, limits, Metrics::new(), Companions::default())
    }

    /// A further pool to the same database, measured together with this one.
    pub fn beside(&self, name: &'static str, servers: Servers, limits: Limits) -> Self {
        let companions = Companions { owner: self.0.companions.owner.clone(), direct: None };
        Self::named(name, servers, limits, self.0.metrics.clone(), companions)
    }

    pub(super) fn named(name: &'static str, servers: Servers, limits: Limits, metrics: Metrics, companions: Companions) -> Self {
        let of_sessions = servers.with(super::session_settings(limits.statement_timeout));
        let settings_of_transactions = of_sessions.settings_of_transactions().map(Arc::from);
        let connector = Connector::new(of_sessions);
        let connections = managed::Pool::builder(connector)
            .max_size(limits.connections as usize)
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts { wait: Some(limits.acquire_timeout), create: Some(limits.acquire_timeout), recycle: None })
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is given for the timeouts");
        let (tidied_at, waits) = (Mutex::new(Instant::now()), metrics.of_pool(name));
        let replica = OnceLock::new();
        let inner = Inner { connections, servers, limits, tidied_at, name, metrics, waits, settings_of_transactions, companions, replica };
        let inner = Arc::new(inner);
        inner.metrics.observe(Observed(Arc::downgrade(&inner)));
        Self(inner)
    }

    /// What is measured of this pool and of those beside it.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// What the pool allows.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// PostgreSQL's servers, also if the pool connects by a pooler.
    pub fn servers(&self) -> &Servers {
        &self.direct().0.servers
    }

    /// The pool whose sessions last longer than a transaction. It is this one, unless a pooler in transaction mode takes them away.
    pub fn direct(&self) -> &Self {
        self.0.companions.direct.as_ref().unwrap_or(self)
    }

    /// Whether it connects by a pooler in transaction mode.
    pub fn is_pooled(&self) -> bool {
        self.0.servers.are_poolers()
    }

    /// A further pool that connects as this one does, by the pooler if there is one.
    pub fn likewise(&self, name: &'static str, limits: Limits) -> Self {
        self.beside(name, self.0.servers.clone(), limits)
    }

    /// The pool for what only the owner of the tables may do, such as adding and dropping partitions. It is this one, unless the settings
    /// name another role.
    pub fn owner(&self) -> &Self {
        self.0.companions.owner.as_ref().unwrap_or_else(|| self.direct())
    }

    /// The role of this pool, if the settings name another one that owns the tables.
    pub fn guest(&self) -> Option<&str> {
        Some(self.servers().role()).filter(|role| *role != self.owner().servers().role())
    }

    /// The same pool, with a standby that [`Pool::read`] asks.
    pub(super) fn reading_from(self, replica: Replica) -> Self {
        self.0.replica.get_or_init(|| replica);
        self
    }

    /// The standby that lists are read from, if there is one.
    pub fn replica(&self) -> Option<&Replica> {
        self.0.replica.get()
    }

    /// Reads what decides nothing, such as a list: from the standby, if there is one that has everything that `reader` has written and is not too
    /// far behind. Otherwise, and again if that fails, from this pool.
    pub async fn read<T, F>(&self, reader: Option<Uuid>, work: impl Fn(Connection) -> F) -> Result<T, sqlx::Error>
    where
        F: Future<Output = Result<T, sqlx::Error>>,
    {
        if let Some(replica) = self.replica()
            && let Some(done) = replica.read(reader, &work).await
        {
            return Ok(done);
        }
        work(self.acquire().await?).await
    }

    /// The clock of the database.
    pub fn clock(&self) -> Clock {
        Clock::Server(self.0.servers.clock().clone())
    }

    /// Takes a connection. If all are in use, waits until one is free, at most for [`Limits::acquire_timeout`]. If too many wait already,
    /// fails at once.
    ///
    /// The future is boxed, as the futures of transactions are: nearly every handler's future contains some, and the compiler would look through
    /// all of them for each handler.
    pub fn acquire(&self) -> BoxFuture<'_, Result<Connection, sqlx::Error>> {
        Box::pin(async {
            if self.0.connections.status().waiting >= MAX_WAITING_FOR_EACH * self.0.limits.connections as usize {
                self.0.waits.refused.inc();
                return Err(sqlx::Error::PoolTimedOut);
            }
            self.take(self.0.connections.timeouts()).await.map_err(|error| self.refused(error))
        })
    }

    /// Takes a connection that nobody uses, or opens one. Waits for none: `None` if all are in use.
    pub fn acquire_free(&self) -> BoxFuture<'_, Result<Option<Connection>, sqlx::Error>> {
        Box::pin(async {
            let without_waiting = Timeouts { wait: Some(Duration::ZERO), ..self.0.connections.timeouts() };
            match self.take(without_waiting).await {
                Ok(connection) => Ok(Some(connection)),
                Err(PoolError::Timeout(TimeoutType::Wait)) => Ok(None),
                Err(error) => Err(self.refused(error)),
            }
        })
    }

    async fn take(&self, timeouts: Timeouts) -> Result<Connection, PoolError<sqlx::Error>> {
        self.close_idle();
        let since = Instant::now();
        let live = self.0.connections.timeout_get(&timeouts).await?;
        self.0.waits.waited.observe(since.elapsed().as_secs_f64());
        let (clock, metrics, settings) = (self.0.servers.clock().clone(), self.0.metrics.clone(), self.0.settings_of_transactions.clone());
        Ok(Connection::new(live, clock, self.0.limits.statement_timeout, settings, metrics))
    }

    /// A caller got no connection.
    fn refused(&self, error: PoolError<sqlx::Error>) -> sqlx::Error {
        self.0.waits.refused.inc();
        match error {
            PoolError::Backend(error) => error,
            PoolError::Closed => sqlx::Error::PoolClosed,
            PoolError::Timeout(_) | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => sqlx::Error::PoolTimedOut,
        }
    }

    /// Takes a connection for statements that may take long, such as those that remove what has expired or create indexes. It is not
    /// kept, so locks of the session end with it.
    pub async fn acquire_patient(&self) -> Result<Connection, sqlx::Error> {
        let mut connection = self.direct().acquire().await?;
        connection.be_patient().await?;
        Ok(connection)
    }

    /// Begins a transaction on a connection of its own.
    pub fn begin(&self) -> BoxFuture<'_, Result<Transaction<'static>, sqlx::Error>> {
        Box::pin(async { Transaction::begin(self.acquire().await?, "begin").await })
    }

    /// Lets nobody take a connection any more, of its companions or the standby neither, and closes those that nobody uses.
    pub async fn close(&self) {
        self.close_own().await;
        let Companions { owner, direct } = &self.0.companions;
        futures::future::join_all([owner, direct].into_iter().flatten().map(Self::close_own)).await;
        if let Some(replica) = self.replica() {
            futures::future::join_all(replica.pools().map(Pool::close_own)).await;
        }
    }

    async fn close_own(&self) {
        let unused = self.0.connections.retain(|_, _| false).removed;
        self.0.connections.close();
        let farewells = unused.into_iter().map(|conn| timeout(CLOSE_TIMEOUT, conn.close()));
        futures::future::join_all(farewells).await;
    }

    fn close_idle(&self) {
        let Ok(mut tidied_at) = self.0.tidied_at.try_lock() else { return };
        if tidied_at.elapsed() >= TIDY_INTERVAL {
            *tidied_at = Instant::now();
            self.0.connections.retain(|_, metrics| metrics.last_used() < MAX_IDLE);
        }
    }
}

/// A statement on a connection of its own.
impl<'p> Executor<'p> for &Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        one_by_one(async move { pool.acquire().await?.run(query).await })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.fetch_optional(query).await })
    }

    fn prepare_with<'e>(self, sql: SqlStr, parameters: &'e [PgTypeInfo]) -> BoxFuture<'e, Result<PgStatement, sqlx::Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.prepare_with(sql, parameters).await })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<Postgres>, sqlx::Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.describe(sql).await })
    }
}
