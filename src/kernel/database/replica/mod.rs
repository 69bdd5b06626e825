//! A hot standby, which lists and figures are read from.
//!
//! It is behind the primary, usually by milliseconds. Two things hold for whoever reads from it: what they have written themselves through this
//! instance is there, and what is missing is not older than `database.replica_max_lag`. For that the primary is asked every moment how far it has
//! written ([`positions`]), the standby before each read how far it is, and who has written when is remembered ([`own_writes`]). If either does
//! not hold, or the standby fails in whatever way, the primary is read instead: nobody notices a standby that is away but the primary.
//!
//! Nothing that decides is read here: no key, session, token, code, limit or lock.

mod metrics;
mod own_writes;
mod positions;
mod queries;
mod standing;

use std::mem::discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use crate::kernel::database::replica::metrics::register;
use crate::kernel::database::replica::metrics::{ReadLabels, Reads};
use crate::kernel::database::replica::own_writes::OwnWrites;
use crate::kernel::database::replica::positions::{Position, Positions};
pub use crate::kernel::database::replica::standing::Standing;
use crate::kernel::database::{Connection, Limits, Pool, Servers, is_unavailable};
use crate::kernel::error_chain::chain;

/// How often the servers are asked where they are. Whoever has just written reads from the primary for so long, at least.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long a server may take to say where it is.
const LOOK_LIMIT: Duration = Duration::from_secs(1);
/// How long a reader waits for a connection to the standby, before it asks the primary.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(500);

/// What a standby is in comparison with its primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// It lacks so much of the write-ahead log.
    Behind {
        /// In bytes.
        bytes: i64,
    },
    /// It has another history, or has not noted yet that it has the same.
    OtherTimeline,
    /// It is no standby.
    NoStandby,
}

/// A standby of a database. Clones share it.
#[derive(Clone, Debug)]
pub struct Replica(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The connections that lists are read on.
    pool: Pool,
    /// One connection to the primary, and one to the standby, to ask where they are.
    primary: Pool,
    standby: Pool,
    max_lag: Duration,
    known: Mutex<Known>,
    reads: Reads,
}

#[derive(Debug)]
struct Known {
    positions: Positions,
    writes: OwnWrites,
    standing: Standing,
    /// The standby has everything that was acknowledged before this moment.
    covered: Option<Instant>,
}

impl Replica {
    /// The standby of the database of `primary` among these servers. It is asked for nothing before [`Replica::follow`].
    pub(super) fn of(primary: &Pool, servers: Servers, max_lag: Duration) -> Self {
        let looking = Limits { connections: 1, acquire_timeout: LOOK_LIMIT, statement_timeout: LOOK_LIMIT };
        let reading = Limits { acquire_timeout: ACQUIRE_TIMEOUT.min(primary.limits().acquire_timeout), ..primary.limits() };
        let (positions, writes) = (Positions::new(max_lag), OwnWrites::new(max_lag));
        Self(Arc::new(Inner {
            pool: primary.beside("standby", servers.clone(), reading),
            primary: primary.beside("written", primary.servers().clone(), looking),
            standby: primary.beside("replayed", servers, looking),
            max_lag,
            known: Mutex::new(Known { positions, writes, standing: Standing::Unknown, covered: None }),
            reads: Reads::default(),
        }))
    }

    /// Watches how far the servers are, until shutdown.
    pub async fn follow(self, stopping: CancellationToken) {
        let mut times = interval(LOOK_INTERVAL.min(self.0.max_lag / 4).max(Duration::from_millis(1)));
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let watching = async {
            loop {
                times.tick().await;
                self.look().await;
            }
        };
        stopping.run_until_cancelled(watching).await;
    }

    async fn look(&self) {
        let asked = Instant::now();
        let told = async { queries::find_written(&mut self.0.primary.acquire().await?).await };
        match told.await {
            Ok(written) => self.known().positions.note(asked, written),
            // Whoever writes is told so.
            Err(error) => tracing::debug!(error = chain(&error), "the primary does not say how far it has written"),
        }
        let told = async { queries::find_replayed(&mut self.0.standby.acquire().await?).await };
        let told = told.await;
        let mut known = self.known();
        let standing = match told {
            Err(error) => Standing::Away(chain(&error)),
            Ok(None) => Standing::NoStandby,
            Ok(Some(replayed)) => {
                known.covered = known.positions.covered_by(&replayed).or(known.covered);
                if self.is_recent(known.covered) { Standing::Used } else { Standing::Behind }
            }
        };
        known.writes.sweep(Instant::now());
        self.set_standing(&mut known, standing);
    }

    /// What was found by the last look.
    pub fn standing(&self) -> Standing {
        self.known().standing.clone()
    }

    /// How far the standby is behind the primary now, for whoever checks the settings.
    ///
    /// # Errors
    /// One of them does not answer.
    pub async fn compare(&self) -> Result<Comparison, sqlx::Error> {
        let written = queries::find_written(&mut self.0.primary.acquire().await?).await?;
        Ok(match queries::find_replayed(&mut self.0.standby.acquire().await?).await? {
            None => Comparison::NoStandby,
            Some(replayed) if replayed.timeline != written.timeline => Comparison::OtherTimeline,
            Some(replayed) => Comparison::Behind { bytes: (written.bytes - replayed.bytes).max(0) },
        })
    }

    /// Whoever this is has written, and the database has acknowledged it: what they read from now on has it.
    pub fn note_write(&self, writer: Uuid) {
        self.known().writes.note(writer, Instant::now());
    }

    /// Reads from the standby; `None` if the primary has to be asked.
    pub(super) async fn read<T, F>(&self, reader: Option<Uuid>, work: &impl Fn(Connection) -> F) -> Option<T>
    where
        F: Future<Output = Result<T, sqlx::Error>>,
    {
        let (outcome, done) = match self.try_to_read(reader, work).await {
            Ok(Ok(done)) => ("standby", Some(done)),
            Ok(Err(reason)) => (reason, None),
            Err(error) => {
                self.note_failure(&error);
                ("failed", None)
            }
        };
        self.0.reads.get_or_create(&ReadLabels { outcome }).inc();
        done
    }

    async fn try_to_read<T, F>(&self, reader: Option<Uuid>, work: &impl Fn(Connection) -> F) -> Result<Result<T, &'static str>, sqlx::Error>
    where
        F: Future<Output = Result<T, sqlx::Error>>,
    {
        if !self.is_used() {
            return Ok(Err("not_used"));
        }
        let mut conn = self.0.pool.acquire().await?;
        // Asked on the same connection: behind one address may be several standbys.
        let Some(replayed) = queries::find_replayed(&mut conn).await? else { return Ok(Err("not_used")) };
        if let Err(reason) = self.may_answer(reader, &replayed) {
            return Ok(Err(reason));
        }
        work(conn).await.map(Ok)
    }

    fn may_answer(&self, reader: Option<Uuid>, replayed: &Position) -> Result<(), &'static str> {
        let known = self.known();
        let covered = known.positions.covered_by(replayed).filter(|covered| self.is_recent(Some(*covered))).ok_or("not_used")?;
        let written = reader.and_then(|reader| known.writes.last_of(reader));
        if written.is_none_or(|written| written <= covered) { Ok(()) } else { Err("own_write") }
    }

    /// A standby that cancels a statement because of what it has to replay, or lacks a table for some moments yet, is asked again by the next one.
    fn note_failure(&self, error: &sqlx::Error) {
        tracing::debug!(error = chain(error), "a list could not be read from the standby, and is read from the primary");
        // One that has no connection left is busy, and not away.
        if is_unavailable(error) && !matches!(error, sqlx::Error::PoolTimedOut) {
            self.set_standing(&mut self.known(), Standing::Away(chain(error)));
        }
    }

    fn set_standing(&self, known: &mut Known, standing: Standing) {
        if discriminant(&known.standing) != discriminant(&standing) {
            standing.announce(self.0.max_lag);
        }
        known.standing = standing;
    }

    fn is_recent(&self, covered: Option<Instant>) -> bool {
        covered.is_some_and(|covered| covered.elapsed() <= self.0.max_lag)
    }

    /// Whether it was in order when it was looked at last.
    fn is_used(&self) -> bool {
        self.known().standing == Standing::Used
    }

    /// The age of what the standby has, at most; `None` if that is not known.
    fn lag(&self) -> Option<Duration> {
        self.known().covered.map(|covered| covered.elapsed())
    }

    fn reads(&self) -> &Reads {
        &self.0.reads
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = &Pool> {
        [&self.0.pool, &self.0.primary, &self.0.standby].into_iter()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
