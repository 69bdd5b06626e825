//! PgBouncer in front of the databases of stories, as `docs/operating.md` ("Poolers") sets it up.

use std::env;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::unistd::{User, geteuid};
use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::database::Settings;
use url::Url;

use crate::support::database::is_of_all;
use crate::support::page::block;
use crate::support::proxy::percent_decode;

/// Has all worlds serve their requests by a pooler in transaction mode.
const FOR_ALL: &str = "PORTICO_TEST_POOLER";
/// Where Debian has it, which is not in everybody's path.
const PROGRAM: &str = "/usr/sbin/pgbouncer";
/// Ends a program with whoever holds the other end of the input.
const UNTIL_THE_INPUT_ENDS: &str = r#""$@" & read -r _; kill $!; wait"#;

static OF_ALL: OnceLock<Pooler> = OnceLock::new();

pub enum Mode {
    /// A connection has a session of its own.
    Session,
    /// Each transaction has one of so many sessions for a database; as many as the guide has if it does not matter.
    Transaction(Option<u32>),
}

/// It ends with this, or with the tests.
pub struct Pooler {
    directory: TemporaryDirectory,
    program: Child,
}

impl Pooler {
    /// In front of the server of this database; `None` if there is no PgBouncer.
    pub fn start(database: &str, mode: Mode) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let directory = TemporaryDirectory::make("portico-it-pooler").unwrap();
        let server = Url::parse(database).unwrap();
        let (host, port, user) = (percent_decode(server.host_str().unwrap()), server.port().unwrap_or(5432), server.username());
        let password = server.password().map(|password| format!(" password={}", percent_decode(password))).unwrap_or_default();
        let (words, size) = match mode {
            Mode::Session => ("in *session* mode", " pool_size=100".to_owned()),
            Mode::Transaction(sessions) => {
                ("in *transaction* mode", sessions.map(|sessions| format!(" pool_size={sessions}")).unwrap_or_default())
            }
        };
        let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operating.md")).unwrap();
        let (_, shown) = guide.split_once(words).unwrap();
        let place = directory.path().display();
        let settings = format!(
            "[databases]\n* = host={host} port={port} user={user}{password}{size}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\n\
             unix_socket_dir = {place}\nauth_type = any\nserver_idle_timeout = 5\n{}",
            block(shown, "ini")
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", UNTIL_THE_INPUT_ENDS, "sh", PROGRAM]).arg(&file);
        if geteuid().is_root() {
            // It refuses to run as root.
            let account = User::from_name("postgres").unwrap().unwrap();
            chown(directory.path(), Some(account.uid.as_raw()), None).unwrap();
            command.args(["-u", "postgres"]);
        }
        let program = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (socket, patience) = (directory.path().join(".s.PGSQL.6432"), Instant::now() + Duration::from_secs(60));
        while UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < patience, "the pooler does not listen");
            sleep(Duration::from_millis(10));
        }
        Some(Self { directory, program })
    }

    /// Ends it: nobody connects by it any more.
    pub fn stop(&mut self) {
        drop(self.program.stdin.take());
        self.program.wait().unwrap();
    }

    /// The URL of a database by way of the pooler.
    pub fn url(&self, database: &str) -> String {
        let database = Url::parse(database).unwrap();
        let place = self.directory.path().display().to_string().replace('/', "%2F");
        let query = database.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("postgres://{}@{place}:6432{}{query}", database.username(), database.path())
    }
}

/// The settings of a database, by way of the pooler of all stories if there is one. Those that have a server of their own do without, and those
/// that want a single connection want its session.
pub fn in_front_of(database: &str, settings: &Settings) -> Settings {
    let has_own = settings.pooler_url.is_some() || settings.max_connections.get() == 1 || !is_of_all(database);
    let url = (env::var_os(FOR_ALL).is_some() && !has_own).then(|| {
        let of_all = OF_ALL.get_or_init(|| Pooler::start(database, Mode::Transaction(None)).expect("PgBouncer is installed"));
        of_all.url(database).parse().unwrap()
    });
    Settings { pooler_url: url.or_else(|| settings.pooler_url.clone()), ..settings.clone() }
}
