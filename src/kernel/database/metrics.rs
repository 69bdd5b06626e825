//! What is measured of pools and statements.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use deadpool::Status;

use crate::kernel::database::pool::Observed;
use crate::kernel::database::statement_name::statement_name;
use crate::kernel::database::{is_unavailable, took_too_long, violated_constraint};
use crate::kernel::metrics::{Counter, Durations, Family, Histogram, Kind, Registry, TailHasher, durations_by};

/// Statements with a text of their own beyond this number are named anew each time. There are fewer; some texts are made at run time.
const MAX_KNOWN: usize = 2_000;

crate::labels! {
    /// The pool.
    pub struct PoolLabels {
        /// Its name.
        pub pool: &'static str,
    }
}

crate::labels! {
    /// The statement.
    pub struct StatementLabels {
        /// Its [name](statement_name): a verb and a table of the schema.
        pub statement: Arc<str>,
    }
}

crate::labels! {
    /// Of a statement that failed.
    pub struct FailureLabels {
        /// Its name.
        pub statement: Arc<str>,
        /// Why it failed: a word of [`reason`].
        pub reason: &'static str,
    }
}

/// The metrics of all pools of one database. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    waits: Durations<PoolLabels>,
    refusals: Family<PoolLabels, Counter>,
    statements: Durations<StatementLabels>,
    failures: Family<FailureLabels, Counter>,
    pools: Mutex<Vec<Observed>>,
    known: RwLock<HashMap<Box<str>, Statement, BuildHasherDefault<TailHasher>>>,
}

/// The series of a statement.
#[derive(Clone, Debug)]
struct Statement {
    name: Arc<str>,
    took: Histogram,
}

/// A statement that has begun.
#[derive(Debug)]
pub struct Begun<'m> {
    metrics: &'m Metrics,
    statement: Statement,
    since: Instant,
}

/// What callers of one pool wait for.
#[derive(Clone, Debug)]
pub struct Waits {
    /// How long they have waited for a connection.
    pub waited: Histogram,
    /// Those that got none.
    pub refused: Counter,
}

impl Metrics {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            waits: durations_by(),
            refusals: Family::default(),
            statements: durations_by(),
            failures: Family::default(),
            pools: Mutex::default(),
            known: RwLock::default(),
        }))
    }

    /// Registers what is measured of this database's pools and statements.
    pub fn register(&self, registry: &mut Registry) {
        let of_pools = |part: fn(Status) -> usize| {
            let this = self.clone();
            move || this.sum_of_pools(part)
        };
        let in_use = of_pools(|status| status.size.saturating_sub(status.available));
        registry.read("portico_pool_connections_in_use", "Connections to PostgreSQL that are in use", Kind::Gauge, in_use);
        let open = of_pools(|status| status.size);
        registry.read("portico_pool_connections_open", "Connections to PostgreSQL that are open", Kind::Gauge, open);
        let most = of_pools(|status| status.max_size);
        registry.read("portico_pool_connections_max", "Connections to PostgreSQL that may be open", Kind::Gauge, most);
        let waiting = of_pools(|status| status.waiting);
        registry.read("portico_pool_waiting", "Callers that wait for a connection", Kind::Gauge, waiting);
        registry.register("portico_pool_wait_seconds", "Time until a caller had a connection", &self.0.waits);
        registry.register(
            "portico_pool_refused",
            "Callers that got no connection in time, or at once if too many waited",
            &self.0.refusals,
        );
        registry.register("portico_statement_seconds", "Time of a statement, until its last row", &self.0.statements);
        registry.register("portico_statement_failures", "Statements that failed", &self.0.failures);
    }

    pub(super) fn of_pool(&self, pool: &'static str) -> Waits {
        let labels = PoolLabels { pool };
        Waits { waited: self.0.waits.get_or_create_owned(&labels), refused: self.0.refusals.get_or_create_owned(&labels) }
    }

    pub(super) fn observe(&self, pool: Observed) {
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner).push(pool);
    }

    /// A number of each pool; pools with the same name are added up, and those that are gone are forgotten.
    fn sum_of_pools(&self, part: fn(Status) -> usize) -> Vec<(PoolLabels, f64)> {
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = BTreeMap::<_, usize>::new();
        pools.retain(|pool| match pool.status() {
            Some((name, status)) => {
                *sums.entry(name).or_default() += part(status);
                true
            }
            None => false,
        });
        sums.into_iter().map(|(pool, sum)| (PoolLabels { pool }, sum as f64)).collect()
    }

    /// Begins to measure a statement with this text.
    pub(super) fn begin(&self, sql: &str) -> Begun<'_> {
        Begun { metrics: self, statement: self.statement(sql), since: Instant::now() }
    }

    fn statement(&self, sql: &str) -> Statement {
        if let Some(known) = self.0.known.read().unwrap_or_else(PoisonError::into_inner).get(sql) {
            return known.clone();
        }
        let name: Arc<str> = statement_name(sql).into();
        let took = self.0.statements.get_or_create_owned(&StatementLabels { statement: Arc::clone(&name) });
        let statement = Statement { name, took };
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KNOWN {
            known.insert(sql.into(), statement.clone());
        }
        statement
    }
}

impl Begun<'_> {
    /// The statement has ended.
    pub(super) fn end(self, error: Option<&sqlx::Error>) {
        self.statement.took.observe(self.since.elapsed().as_secs_f64());
        if let Some(error) = error {
            let labels = FailureLabels { statement: self.statement.name, reason: reason(error) };
            self.metrics.0.failures.get_or_create(&labels).inc();
        }
    }
}

/// A word for why a statement failed.
fn reason(error: &sqlx::Error) -> &'static str {
    match error {
        _ if is_unavailable(error) => "unavailable",
        _ if took_too_long(error) => "too_long",
        _ if violated_constraint(error).is_some() => "constraint",
        sqlx::Error::Database(error) if error.code().is_some_and(|code| code.starts_with("40")) => "conflict",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_the_same_end_keep_their_names() {
        let (metrics, end) = (Metrics::new(), "where a_rather_long_condition_at_the_end = $1");
        for table in ["orders", "stores", "orders", "stores"] {
            assert_eq!(*metrics.statement(&format!("select id from {table} {end}")).name, *format!("select {table}"));
        }
        assert_eq!(metrics.0.known.read().unwrap().len(), 2);
    }

    #[test]
    fn texts_that_are_made_at_run_time_do_not_fill_the_memory() {
        let metrics = Metrics::new();
        for number in 0..3 * MAX_KNOWN {
            metrics.begin(&format!("delete from events_{number}")).end(None);
        }
        assert_eq!(metrics.0.known.read().unwrap().len(), MAX_KNOWN);
        let took = metrics.0.statements.get_or_create_owned(&StatementLabels { statement: "delete events".into() });
        let mut registry = Registry::default();
        registry.register("took", "Time", &took);
        assert!(registry.render().contains(&format!("took_count {}", 3 * MAX_KNOWN)));
    }
}
