//! A server that tells what it was asked and what it has written: by its log of statements, and by its write-ahead log.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use portico::kernel::database::statement_name;
use portico::kernel::ids::CompanyId;
use sqlx::{Connection as _, Executor, PgConnection};

use crate::support::World;
use crate::support::own_postgres::OwnPostgres;

/// It logs every statement, without its parameters, and does nothing by itself.
const SETTINGS: [(&str, &str); 3] = [("log_statement", "all"), ("log_parameter_max_length", "0"), ("autovacuum", "off")];

const STATEMENTS: &str = "statements";
const ROWS: &str = "rows";
const LOCKS: &str = "locks";
const INDEX_ENTRIES: &str = "index entries";
/// What the sum is of.
const IN_ALL: &str = "in all";

/// The beginnings of the statements that depend on time: the question to a connection that nobody has used for a second, and the notification of
/// other instances that follows ten milliseconds after commits.
const BY_TIME: [&str; 2] = ["select clock_timestamp(), ", "select pg_notify("];

/// The number of each file, and the table that it belongs to: that of an index, of what is stored beside rows, or of a day.
const FILES: &str = "
    select pg_relation_filenode(file.oid)::bigint, coalesce(pg_partition_root(owner.id), owner.id::regclass)::text
    from pg_class as file
    left join pg_index on indexrelid = file.oid
    join pg_class as bearer on bearer.oid = coalesce(indrelid, file.oid)
    left join pg_class as toasted on toasted.reltoastrelid = bearer.oid
    cross join lateral (select coalesce(toasted.oid, bearer.oid) as id) as owner
    where pg_relation_filenode(file.oid) is not null";

/// How often each statement was sent, and to each table something was written: what is counted, and of which.
pub type Counts = BTreeMap<(&'static str, String), usize>;

pub struct CountingServer {
    server: OwnPostgres,
    /// A connection that is not counted.
    conn: PgConnection,
}

impl CountingServer {
    /// A server with all migrations.
    pub async fn start() -> Self {
        let mut server = OwnPostgres::start().await;
        server.restart_with(&SETTINGS).await;
        let mut conn = PgConnection::connect(&server.url()).await.unwrap();
        conn.execute("set log_statement = 'none'").await.unwrap();
        Self { server, conn }
    }

    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Shuts down at the end of the story.
    pub async fn end(self, world: World) {
        let Self { server, conn } = self;
        conn.close().await.unwrap();
        server.end(world).await;
    }

    /// Begins the figures of this hour for every duration that an attempt may take, so that they have a row for it.
    pub async fn begin_figures(&mut self, company: CompanyId, now: DateTime<Utc>) {
        let sql = "insert into attempt_hours (subscription_id, hour, bucket, company_id)
                   select subscription_id, date_trunc('hour', $2, 'UTC'), bucket, $1 from endpoints cross join generate_series(0, 31) as bucket";
        let begun = sqlx::query(sql).bind(company.uuid()).bind(now).execute(&mut self.conn).await.unwrap();
        assert_eq!(begun.rows_affected(), 32, "there is one endpoint");
    }

    /// Does some work, and counts.
    pub async fn count<T>(&mut self, work: impl Future<Output = T>) -> (T, Counts) {
        let (logged, from) = (self.server.log().len(), self.place().await);
        let done = work.await;
        let until = self.place().await;

        let mut counts = Counts::from([STATEMENTS, ROWS, LOCKS, INDEX_ENTRIES].map(|what| ((what, IN_ALL.to_owned()), 0)));
        let mut note = |what: &'static str, of: String| {
            for of in [IN_ALL.to_owned(), of] {
                *counts.entry((what, of)).or_default() += 1;
            }
        };
        for statement in statements(&self.server.log()[logged..]) {
            note(STATEMENTS, statement_name(&statement));
        }
        let files = sqlx::query_as::<_, (i64, String)>(FILES).fetch_all(&mut self.conn).await.unwrap();
        let files: HashMap<_, _> = files.into_iter().collect();
        for (what, file) in self.server.write_ahead_log(&from, &until).lines().filter_map(written) {
            note(what, files.get(&file).expect("what is written to is there").clone());
        }
        (done, counts)
    }

    /// A place in the write-ahead log: the end of a record that nobody reads. It is on the disk when this returns, with everything before it.
    async fn place(&mut self) -> String {
        let sql = "select pg_logical_emit_message(true, 'counting', ''::text)::text";
        sqlx::query_scalar(sql).fetch_one(&mut self.conn).await.unwrap()
    }
}

/// The statements in a part of the server's log, but those that depend on time. The further lines of an entry begin with a tab.
fn statements(log: &str) -> Vec<String> {
    let mut entries = Vec::<String>::new();
    for line in log.lines() {
        match (line.strip_prefix('\t'), entries.last_mut()) {
            (Some(further), Some(entry)) => {
                entry.push('\n');
                entry.push_str(further);
            }
            _ => entries.push(line.to_owned()),
        }
    }
    let sent = entries.iter().filter_map(|entry| statement(entry));
    sent.filter(|statement| !BY_TIME.iter().any(|begin| statement.starts_with(*begin))).map(str::to_owned).collect()
}

/// The statement of an entry, if it tells of one.
fn statement(entry: &str) -> Option<&str> {
    let (_, told) = entry.split_once(" LOG:  ")?;
    let prepared = || told.strip_prefix("execute ")?.split_once(": ").map(|(_, statement)| statement);
    told.strip_prefix("statement: ").or_else(prepared)
}

/// What a record of the write-ahead log counts as, and the number of its file. An entry that splits its page is written by the record of the
/// split. The entries of a row in an index of texts are gathered on a list, whose end is noted once for each row.
fn written(record: &str) -> Option<(&'static str, i64)> {
    let manager = record.strip_prefix("rmgr: ")?.split_whitespace().next()?;
    let (_, described) = record.split_once(" desc: ")?;
    // What comes first to a page is `INSERT+INIT`.
    let what = match (manager, described.split([' ', '+', ',']).next()?) {
        ("Heap", "INSERT" | "UPDATE" | "HOT_UPDATE" | "DELETE") => ROWS,
        ("Heap", "LOCK") => LOCKS,
        ("Btree", "INSERT_LEAF" | "INSERT_POST" | "SPLIT_L" | "SPLIT_R") | ("Gin", "UPDATE_META_PAGE") => INDEX_ENTRIES,
        _ => return None,
    };
    let (_, file) = described.split_once("blkref #0: rel ").expect("the record names what is written to");
    let number = file.split_whitespace().next().and_then(|file| file.rsplit('/').next()).expect("a file has a number");
    Some((what, number.parse().unwrap()))
}

#[test]
fn statements_are_read_from_the_log_whatever_stands_around_them() {
    let log = "2026-11-23 10:15:00.000 UTC [42] LOG:  statement: begin\n\
               2026-11-23 10:15:00.001 UTC [42] LOG:  execute sqlx_s_3: with new as (\n\
               \t    select 1 as a\n\
               \t) insert into plates select a from new\n\
               2026-11-23 10:15:00.002 UTC [43] LOG:  execute sqlx_s_1: select clock_timestamp(), current_setting('transaction_read_only')\n\
               2026-11-23 10:15:00.002 UTC [7] LOG:  checkpoint starting: time\n\
               2026-11-23 10:15:00.003 UTC [42] LOG:  statement: commit\n\
               2026-11-23 10:15:00.013 UTC [44] LOG:  execute sqlx_s_2: select pg_notify(own_channel($1), $2)\n";
    let statements = statements(log);
    assert_eq!(statements, ["begin", "with new as (\n    select 1 as a\n) insert into plates select a from new", "commit"]);
    assert_eq!(statement_name(&statements[1]), "insert plates");
}

#[test]
fn records_are_read_as_one_version_of_the_server_or_another_shows_them() {
    let record = |manager: &str, described: &str| {
        written(&format!("rmgr: {manager:11} len (rec/tot):     54/   150, tx:  741, lsn: 0/0155E1A8, prev 0/0155E170, desc: {described}"))
    };
    for (manager, described, what) in [
        ("Heap", "INSERT off 3 flags 0x00, blkref #0: rel 1663/5/16396 blk 0", ROWS),
        ("Heap", "INSERT+INIT off: 1, flags: 0x08, blkref #0: rel 1663/5/16396 blk 0 FPW", ROWS),
        ("Heap", "HOT_UPDATE off 1 xmax 741 flags 0x00 ; new off 2 xmax 0, blkref #0: rel 1663/5/16396 blk 0", ROWS),
        ("Heap", "LOCK xmax: 741, off: 1, infobits: [LOCK_ONLY, EXCL_LOCK], flags: 0x00, blkref #0: rel 1663/5/16396 blk 0", LOCKS),
        ("Btree", "INSERT_LEAF off 4, blkref #0: rel 1663/5/16396 blk 1", INDEX_ENTRIES),
        ("Btree", "SPLIT_R level: 0, firstrightoff: 9, newitemoff: 7, postingoff: 0, blkref #0: rel 1663/5/16396 blk 1", INDEX_ENTRIES),
        ("Gin", "UPDATE_META_PAGE , blkref #0: rel 1663/5/16396 blk 0", INDEX_ENTRIES),
    ] {
        assert_eq!(record(manager, described), Some((what, 16_396)), "{described}");
    }
    for (manager, described) in [
        ("Transaction", "COMMIT 2026-11-23 10:15:00.000000 UTC"),
        ("Btree", "NEWROOT level 0, blkref #0: rel 1663/5/16396 blk 1, blkref #2: rel 1663/5/16396 blk 0"),
        ("Heap2", "PRUNE snapshotConflictHorizon: 740, nredirected: 0, ndead: 1, blkref #0: rel 1663/5/16396 blk 0"),
        ("LogicalMessage", "MESSAGE transactional, prefix \"counting\"; payload (0 bytes): "),
    ] {
        assert_eq!(record(manager, described), None, "{described}");
    }
}
