//! A PostgreSQL server of the story's own, which can be stopped and restarted with its data.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portico::dev::postgres::{DATABASE, PrivatePostgres, Settings};
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::database::Connection;

use crate::support::World;
use crate::support::database::{migrate, pool};

pub struct OwnPostgres {
    settings: Settings,
    server: Option<PrivatePostgres>,
    _directory: TemporaryDirectory,
}

impl OwnPostgres {
    /// A server with all migrations.
    pub async fn start() -> Self {
        let directory = TemporaryDirectory::make("portico-it-restart").unwrap();
        let settings = Settings { data_dir: directory.path().to_owned(), durable: true, max_connections: 50 };
        let mut this = Self { settings, server: None, _directory: directory };
        this.come_back().await;
        migrate(&this.url()).await;
        this
    }

    pub async fn come_back(&mut self) {
        let settings = self.settings.clone();
        self.server = Some(tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings).unwrap()).await.unwrap());
    }

    pub async fn go_away(&mut self) {
        self.server.take().unwrap().stop().await;
    }

    /// Kills the server without a shutdown: what was not on disk is lost.
    pub async fn crash(&mut self) {
        let file = fs::read_to_string(self.settings.data_dir.join("postgres/postmaster.pid")).unwrap();
        let process = file.lines().next().unwrap().trim().parse().unwrap();
        kill(Pid::from_raw(process), Signal::SIGQUIT).unwrap();
        self.go_away().await;
    }

    pub fn url(&self) -> String {
        self.server.as_ref().unwrap().url(DATABASE)
    }

    /// A connection of the story's own: the service's pool does not test connections that were used within the last second.
    pub async fn connect(&self) -> Connection {
        pool(&self.url()).acquire().await.unwrap()
    }

    /// Shuts down at the end of the story, after the world has checked its events.
    pub async fn end(mut self, world: World) {
        world.pool.close().await;
        drop(world);
        self.go_away().await;
    }
}
