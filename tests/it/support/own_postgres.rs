//! A PostgreSQL server of the story's own, which can be stopped and restarted with its data.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portico::dev::postgres::{DATABASE, PrivatePostgres, Settings};
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::database::Connection;
use portico::kernel::database::programs::find_program;
use sqlx::{AssertSqlSafe, Connection as _, Executor, PgConnection};

use crate::support::World;
use crate::support::database::{migrate_portably, pool};
use crate::support::proxy::percent_decode;
use crate::support::waiting::until;

/// Processes of a server that stand still.
#[must_use]
pub struct Frozen(Vec<Pid>);

impl Frozen {
    /// Stops one process until the result is dropped.
    pub fn process(id: Pid) -> Self {
        kill(id, Signal::SIGSTOP).unwrap();
        Self(vec![id])
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for process in &self.0 {
            let _ = kill(*process, Signal::SIGCONT);
        }
    }
}

/// The files of a server, as a base backup has them.
pub struct BaseBackup(OwnPostgres);

impl BaseBackup {
    /// The server as it was at this time, by the archive.
    pub async fn restored_to(mut self, time: &str, archive: &Path) -> OwnPostgres {
        let files = self.0.settings.data_dir.join("postgres");
        File::create(files.join("recovery.signal")).unwrap();
        let mut options = OpenOptions::new().append(true).open(files.join("postgresql.auto.conf")).unwrap();
        writeln!(options, "restore_command = 'cp {}/%f %p'", archive.display()).unwrap();
        writeln!(options, "recovery_target_time = '{time}'").unwrap();
        writeln!(options, "recovery_target_action = 'promote'\narchive_mode = off").unwrap();
        self.0.give_away(&files);
        self.0.come_back().await;
        let mut conn = PgConnection::connect(&self.0.url()).await.unwrap();
        until("the recovery has ended", async || {
            !sqlx::query_scalar::<_, bool>("select pg_is_in_recovery()").fetch_one(&mut conn).await.unwrap()
        })
        .await;
        self.0
    }
}

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
        // A process that ends takes nothing back from the system, so no statement need wait for a disk that others are writing to.
        let mut conn = PgConnection::connect(&this.url()).await.unwrap();
        for sql in ["alter system set fsync = off", "select pg_reload_conf()"] {
            conn.execute(sql).await.unwrap();
        }
        conn.close().await.unwrap();
        migrate_portably(&this.url()).await;
        this
    }

    /// A primary and a standby that has all that the primary has acknowledged.
    pub async fn start_pair() -> (Self, Self) {
        let mut primary = Self::start().await;
        primary.go_away().await;
        let directory = TemporaryDirectory::make("portico-it-standby").unwrap();
        let settings = Settings { data_dir: directory.path().to_owned(), ..primary.settings.clone() };
        let files = settings.data_dir.join("postgres");
        // With the owner and the permissions that the server insists on.
        let copied = Command::new("cp").arg("-a").arg(primary.settings.data_dir.join("postgres")).arg(&files).status().unwrap();
        assert!(copied.success());
        primary.come_back().await;
        let source = url::Url::parse(&primary.url()).unwrap();
        let (host, user) = (percent_decode(source.host_str().unwrap()), source.username());
        File::create(files.join("standby.signal")).unwrap();
        let mut options = OpenOptions::new().append(true).open(files.join("postgresql.auto.conf")).unwrap();
        writeln!(options, "primary_conninfo = 'host={host} user={user}'").unwrap();
        let mut standby = Self { settings, server: None, _directory: directory };
        standby.come_back().await;
        let mut conn = primary.connect().await;
        conn.execute("alter system set synchronous_standby_names = '*'").await.unwrap();
        conn.execute("select pg_reload_conf()").await.unwrap();
        until("the standby is synchronous", async || {
            let states: Vec<String> = sqlx::query_scalar("select sync_state from pg_stat_replication").fetch_all(&mut conn).await.unwrap();
            states == ["sync"]
        })
        .await;
        (primary, standby)
    }

    /// The URL that names both servers.
    pub fn url_of_either(one: &Self, other: &Self) -> String {
        let (one, other) = (url::Url::parse(&one.url()).unwrap(), other.url());
        let authority = |url: &url::Url| format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432));
        let first = authority(&one);
        other.replacen(&format!("{}@", one.username()), &format!("{}@{first},", one.username()), 1)
    }

    /// Copies every completed segment of the write-ahead log into a directory from now on, which it makes.
    pub async fn archive_to(&mut self, directory: &Path) {
        fs::create_dir(directory).unwrap();
        self.give_away(directory);
        let command = format!("test ! -f {0}/%f && cp %p {0}/%f", directory.display());
        self.restart_with(&[("archive_command", &command), ("archive_mode", "on")]).await;
    }

    /// Starts the server anew with these settings.
    pub async fn restart_with(&mut self, settings: &[(&str, &str)]) {
        let mut conn = self.connect().await;
        for (name, value) in settings {
            conn.execute(AssertSqlSafe(format!("alter system set {name} = '{value}'"))).await.unwrap();
        }
        drop(conn);
        self.go_away().await;
        self.come_back().await;
    }

    /// What the server has logged since it was started.
    pub fn log(&self) -> String {
        fs::read_to_string(self.settings.data_dir.join("postgres.log")).unwrap()
    }

    /// The records of the write-ahead log between two places, one in a line.
    pub fn write_ahead_log(&self, from: &str, until: &str) -> String {
        let shown = Command::new(find_program("pg_waldump").unwrap())
            .args(["--start", from, "--end", until, "--path"])
            .arg(self.settings.data_dir.join("postgres/pg_wal"))
            .output()
            .unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        String::from_utf8(shown.stdout).unwrap()
    }

    /// Makes a base backup.
    pub async fn base_backup(&self) -> BaseBackup {
        let directory = TemporaryDirectory::make("portico-it-point-in-time").unwrap();
        let settings = Settings { data_dir: directory.path().to_owned(), ..self.settings.clone() };
        let files = settings.data_dir.join("postgres");
        let copied = Command::new(find_program("pg_basebackup").unwrap())
            .args(["--checkpoint=fast", "--wal-method=stream", "--dbname", &self.url()])
            .arg("--pgdata")
            .arg(&files)
            .status();
        assert!(copied.unwrap().success());
        self.give_away(&files);
        BaseBackup(Self { settings, server: None, _directory: directory })
    }

    /// Completes the segment that is being written, and returns once it is archived.
    pub async fn archive_the_rest(&self) {
        let mut conn = self.connect().await;
        let segment: String = sqlx::query_scalar("select pg_walfile_name(pg_switch_wal())").fetch_one(&mut conn).await.unwrap();
        until("the segment is archived", async || {
            let last = sqlx::query_scalar::<_, Option<String>>("select last_archived_wal from pg_stat_archiver");
            last.fetch_one(&mut conn).await.unwrap().is_some_and(|last| last >= segment)
        })
        .await;
    }

    /// Makes the account of the server the owner of files.
    fn give_away(&self, files: &Path) {
        let reference = format!("--reference={}", self.settings.data_dir.join("postgres").display());
        assert!(Command::new("chown").arg("-R").arg(reference).arg(files).status().unwrap().success());
    }

    /// Makes a primary of a standby.
    pub async fn promote(&self) {
        // Not a connection of the service, which wants a server that writes.
        let mut conn = PgConnection::connect(&self.url()).await.unwrap();
        assert!(sqlx::query_scalar::<_, bool>("select pg_promote()").fetch_one(&mut conn).await.unwrap());
        // Otherwise it would wait for a standby of its own.
        conn.execute("alter system reset synchronous_standby_names").await.unwrap();
        conn.execute("select pg_reload_conf()").await.unwrap();
    }

    /// Stops all processes of the server in the middle of what they do, until the result is dropped.
    pub fn freeze(&self) -> Frozen {
        let postmaster = self.postmaster();
        // The first begins no others once it stands still.
        let (mut frozen, mut moving) = (Frozen(Vec::new()), vec![postmaster]);
        while !moving.is_empty() {
            for process in moving {
                // A process that has just ended does nothing either.
                let _ = kill(process, Signal::SIGSTOP);
                frozen.0.push(process);
            }
            // The list lacks some while others end, so it is read until it names no new ones.
            let children = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap();
            let children = children.split_whitespace().map(|child| Pid::from_raw(child.parse().unwrap()));
            moving = children.filter(|child| !frozen.0.contains(child)).collect();
        }
        frozen
    }

    fn postmaster(&self) -> Pid {
        let file = fs::read_to_string(self.settings.data_dir.join("postgres/postmaster.pid")).unwrap();
        Pid::from_raw(file.lines().next().unwrap().trim().parse().unwrap())
    }

    pub async fn come_back(&mut self) {
        let settings = self.settings.clone();
        self.server = Some(tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings).unwrap()).await.unwrap());
    }

    pub async fn go_away(&mut self) {
        self.server.take().unwrap().stop().await;
    }

    /// Kills the server without a shutdown: what it has not written yet is lost.
    pub async fn crash(&mut self) {
        kill(self.postmaster(), Signal::SIGQUIT).unwrap();
        self.go_away().await;
    }

    /// Moves the database to another disk, of which `directory` is the root.
    pub async fn move_to(&self, directory: &Path) {
        let place = directory.join("database");
        fs::create_dir(&place).unwrap();
        let owner = fs::metadata(self.settings.data_dir.join("postgres")).unwrap();
        chown(&place, Some(owner.uid()), Some(owner.gid())).unwrap();
        // Whoever is in a database cannot move it.
        let mut conn = PgConnection::connect(&self.server.as_ref().unwrap().url("postgres")).await.unwrap();
        for sql in
            [format!("create tablespace small location '{}'", place.display()), format!("alter database {DATABASE} set tablespace small")]
        {
            conn.execute(AssertSqlSafe(sql)).await.unwrap();
        }
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
