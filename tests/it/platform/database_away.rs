//! A database outage: 503 while it lasts, and automatic recovery afterwards.

use chrono::TimeDelta;
use portico::dev::postgres::{DATABASE, PrivatePostgres, Settings};
use portico::dev::temporary::TemporaryDirectory;
use reqwest::Method;

use crate::support::World;
use crate::support::customers::{EMAIL, token};
use crate::support::database::migrate;

/// The story's own PostgreSQL server, which can be stopped and started.
struct Database {
    directory: TemporaryDirectory,
    running: Option<PrivatePostgres>,
}

impl Database {
    async fn start() -> Self {
        let mut database = Self { directory: TemporaryDirectory::make("portico-away").unwrap(), running: None };
        database.come_back().await;
        database
    }

    async fn come_back(&mut self) {
        let settings = Settings { data_dir: self.directory.path().to_owned(), durable: false, max_connections: 50 };
        let starting = tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings).unwrap());
        self.running = Some(starting.await.unwrap());
    }

    async fn go_away(&mut self) {
        self.running.take().unwrap().stop().await;
    }

    fn url(&self) -> String {
        self.running.as_ref().unwrap().url(DATABASE)
    }
}

#[tokio::test]
async fn requests_are_answered_503_until_the_database_is_back() {
    let mut database = Database::start().await;
    migrate(&database.url()).await;
    let world = World::on(&database.url(), &[("database.acquire_timeout", "300ms")]).await;
    let signed_in = token(&world.register(EMAIL).await);
    let me = || world.storefront_get("customers/me").token(&signed_in).send();
    me().await.ok(200);

    database.go_away().await;
    // Looked-up rows are cached for one second.
    world.pass(TimeDelta::seconds(1));
    for _ in 0..3 {
        me().await.refused(503, "database_unavailable");
    }
    world.request(Method::GET, "/healthz").send().await.ok(200);
    world.request(Method::GET, "/readyz").send().await.refused(503, "database_unavailable");

    database.come_back().await;
    me().await.ok(200);
    world.request(Method::GET, "/readyz").send().await.ok(200);
}
