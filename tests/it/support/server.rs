//! The PostgreSQL server of the test binary: a private one, or the one that `PORTICO_TEST_DATABASE_URL` names.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{self, Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use portico::dev::postgres::PrivatePostgres;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use url::Url;

use crate::support::database::migrate_portably;

/// Names a server on which the role of the URL may create databases. It needs room for 500 connections.
const GIVEN: &str = "PORTICO_TEST_DATABASE_URL";

/// Removes the directories of a process once the process has closed the input and its servers have stopped.
const TIDY_UP: &str = r#"read -r _
for _ in $(seq 300); do ls $0/postgres/postmaster.pid || break; sleep 0.1; done
rm -rf $0"#;

pub enum Server {
    /// It ends with the tests.
    Private(PrivatePostgres),
    /// What a run leaves there is dropped by the next one on this machine.
    Given(Url),
}

impl Server {
    /// Finds or starts the server, and creates the database that others are copied from.
    pub fn start() -> Self {
        let server = match env::var_os(GIVEN) {
            Some(url) => Self::Given(Url::parse(url.to_str().unwrap()).unwrap()),
            None => Self::Private(PrivatePostgres::start_temporary(500).unwrap()),
        };
        tidy_up_afterwards();
        // In a thread of its own, because the server is shared by all stories and must neither block nor belong to the runtime of the first one.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(server.prepare());
            server
        })
        .join()
        .expect("the server is there")
    }

    async fn prepare(&self) {
        let mut conn = self.administrator().await;
        if let Self::Given(_) = self {
            drop_abandoned(&mut conn).await;
        }
        let template = self.name("migrated");
        conn.execute(AssertSqlSafe(format!("create database {template}"))).await.unwrap();
        conn.close().await.unwrap();
        migrate_portably(&self.url(&template)).await;
    }

    /// The name of a database of this run.
    pub fn name(&self, database: &str) -> String {
        match self {
            Self::Private(_) => database.to_owned(),
            Self::Given(_) => format!("portico_test_{}_{database}", process::id()),
        }
    }

    pub fn url(&self, database: &str) -> String {
        match self {
            Self::Private(postgres) => postgres.url(database),
            Self::Given(url) => {
                let mut url = url.clone();
                url.set_path(database);
                url.into()
            }
        }
    }

    /// How a database is copied: our own server by files, half as long as page by page through its log.
    pub fn strategy(&self) -> &'static str {
        match self {
            Self::Private(_) => "strategy file_copy",
            Self::Given(_) => "",
        }
    }

    /// A connection of a role that may create databases.
    pub async fn administrator(&self) -> PgConnection {
        let url = match self {
            Self::Private(postgres) => postgres.url("postgres"),
            Self::Given(url) => url.to_string(),
        };
        PgConnection::connect(&url).await.unwrap()
    }
}

/// Has the temporary directories of this process removed when it has ended: it drops nothing that is static.
fn tidy_up_afterwards() {
    static WAITING: OnceLock<Child> = OnceLock::new();
    WAITING.get_or_init(|| {
        let directories = env::temp_dir().join(format!("portico-*-{}-*", process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", TIDY_UP]).arg(directories).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own, so that it goes on when somebody interrupts the tests.
        command.process_group(0).spawn().unwrap()
    });
}

/// Drops the databases of runs that have ended.
async fn drop_abandoned(conn: &mut PgConnection) {
    let names = sqlx::query_scalar::<_, String>(r"select datname::text from pg_database where datname like 'portico\_test\_%'");
    for name in names.fetch_all(&mut *conn).await.unwrap() {
        let process = name.split('_').nth(2).unwrap_or_default();
        if !std::path::Path::new("/proc").join(process).exists() {
            conn.execute(AssertSqlSafe(format!("drop database if exists {name} with (force)"))).await.unwrap();
        }
    }
}
