//! One database per story, which is dropped when the story has ended.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use portico::app;
use portico::config::Config;
use portico::declared::Declared;
use portico::kernel::clock::Clock;
use portico::kernel::database::{Limits, Pool};
use portico::kernel::migrations;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use url::Url;

use crate::support::server::Server;
use crate::support::waiting::until;
use crate::support::{World, portable};

static SERVER: OnceLock<Server> = OnceLock::new();
static STORIES: AtomicU32 = AtomicU32::new(0);
/// Takes the names of databases that nobody needs any more.
static ENDED: LazyLock<Sender<String>> = LazyLock::new(drop_databases);
/// Has the names of databases that nobody uses yet.
static READY: LazyLock<Mutex<Receiver<String>>> = LazyLock::new(copy_databases);

thread_local! {
    /// The databases of the story that runs on this thread.
    static MADE: RefCell<Made> = const { RefCell::new(Made(Vec::new())) };
}

struct Made(Vec<String>);

impl Drop for Made {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|name| ENDED.send(name).unwrap());
    }
}

/// Drops databases on a thread of its own, because a story's thread ends with its runtime, and with its connections.
fn drop_databases() -> Sender<String> {
    let (sender, names) = mpsc::channel();
    on_a_connection(async move |conn| {
        for name in names {
            // A program that the story has started may not have noticed its end yet. The server waits five seconds for the sessions that it ends.
            let statement = format!("drop database if exists {name} with (force)");
            until("the database is dropped", async || conn.execute(AssertSqlSafe(statement.as_str())).await.is_ok()).await;
        }
    });
    sender
}

fn drop_at_the_end(name: &str) {
    MADE.with_borrow_mut(|made| made.0.push(name.to_owned()));
}

/// The URL of a new database with all migrations.
pub async fn fresh() -> String {
    let name = READY.lock().unwrap().recv().unwrap();
    drop_at_the_end(&name);
    server().url(&name)
}

/// The URL of a new database without migrations.
pub async fn empty() -> String {
    let mut conn = server().administrator().await;
    let name = copy_of(&mut conn, "template0").await;
    conn.close().await.unwrap();
    drop_at_the_end(&name);
    server().url(&name)
}

/// Whether a database is on the server of all stories.
pub fn is_of_all(database: &str) -> bool {
    let place = |url: &str| url.rsplit_once('/').map(|(place, _)| place.to_owned());
    place(database) == place(&server().url("postgres"))
}

fn server() -> &'static Server {
    SERVER.get_or_init(Server::start)
}

/// Copies the database that has all migrations, on a thread of its own: a few copies wait for the next stories.
fn copy_databases() -> Mutex<Receiver<String>> {
    let (copies, ready) = mpsc::sync_channel(2);
    on_a_connection(async move |conn| {
        let template = server().name("migrated");
        while copies.send(copy_of(conn, &template).await).is_ok() {}
    });
    Mutex::new(ready)
}

async fn copy_of(conn: &mut PgConnection, template: &str) -> String {
    let name = server().name(&format!("story_{}", STORIES.fetch_add(1, Ordering::Relaxed)));
    conn.execute(AssertSqlSafe(format!("create database {name} template {template} {}", server().strategy()))).await.unwrap();
    portable::find_refusals(conn, &name).await;
    name
}

/// Works on a thread and a connection of its own, which outlive every story.
fn on_a_connection(work: impl AsyncFnOnce(&mut PgConnection) + Send + 'static) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { work(&mut server().administrator().await).await });
    });
}

/// The URL of a database without migrations, beside that of a story.
pub async fn empty_beside(world: &World) -> String {
    let mut url = Url::parse(&world.database).unwrap();
    let name = format!("{}_empty", url.path().trim_start_matches('/'));
    let mut conn = PgConnection::connect(&world.database).await.unwrap();
    conn.execute(AssertSqlSafe(format!("create database {name} template template0"))).await.unwrap();
    conn.close().await.unwrap();
    if is_of_all(&world.database) {
        drop_at_the_end(&name);
    }
    url.set_path(&name);
    url.into()
}

/// Connections to the database at this URL.
pub fn pool(url: &str) -> Pool {
    let (acquire_timeout, statement_timeout) = (Duration::from_secs(30), Duration::from_secs(60));
    Pool::new(url.parse().unwrap(), Limits { connections: 10, acquire_timeout, statement_timeout })
}

/// Runs all migrations, and creates what the bundled extensions need.
pub async fn migrate(url: &str) {
    let pool = pool(url);
    migrations::apply(&pool).await.unwrap();
    let shipped = app::declarations(&Config::with(&[]).unwrap().extensions).unwrap();
    let shipped = Declared::new(pool.clone(), Clock::System, shipped, &[]);
    shipped.take_schemas().await.unwrap();
    shipped.make_indexes().await.unwrap();
    pool.close().await;
}

/// The same in a database that refuses what is not portable, from now on and while it is migrated.
pub async fn migrate_portably(url: &str) {
    let mut conn = PgConnection::connect(url).await.unwrap();
    portable::refuse_more(&mut conn).await;
    portable::find_refusals(&mut conn, Url::parse(url).unwrap().path().trim_start_matches('/')).await;
    conn.close().await.unwrap();
    migrate(url).await;
}

/// The values of every column of every table: the name of the column (`table.column`) and its values as text, bytes in hex.
pub async fn dump(pool: &Pool) -> Vec<(String, String)> {
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select relname::text, attname::text from pg_class join pg_attribute on attrelid = pg_class.oid
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and attnum > 0 and not attisdropped",
    )
    .fetch_all(pool)
    .await
    .unwrap();
    assert!(columns.len() > 100);
    let mut dump = Vec::new();
    for (table, column) in columns {
        let sql = format!("select coalesce(string_agg(distinct {column}::text, ' '), '') from {table}");
        dump.push((format!("{table}.{column}"), sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(pool).await.unwrap()));
    }
    dump
}
