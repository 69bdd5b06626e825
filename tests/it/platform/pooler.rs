//! A pooler in session mode before the database (`docs/operating.md`, "Poolers").

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Stdio;

use nix::unistd::{User, geteuid};
use portico::dev::temporary::TemporaryDirectory;
use portico::events;
use portico::kernel::database::Notifications;
use tokio::process::{Child, Command};
use url::Url;

use crate::support::customers::PHONE;
use crate::support::proxy::percent_decode;
use crate::support::waiting::{in_time, until};
use crate::support::{World, database};

/// Where Debian has it, which is not in everybody's path.
const PROGRAM: &str = "/usr/sbin/pgbouncer";

struct Pooler {
    /// The URL of the database by way of the pooler.
    url: String,
    _program: Child,
    _directory: TemporaryDirectory,
}

impl Pooler {
    /// PgBouncer as the guide sets it up.
    async fn start(database: &str) -> Self {
        let directory = TemporaryDirectory::make("portico-it-pooler").unwrap();
        let server = Url::parse(database).unwrap();
        let (host, port, user) = (percent_decode(server.host_str().unwrap()), server.port().unwrap_or(5432), server.username());
        let place = directory.path().display();
        let settings = format!(
            "[databases]\n* = host={host} port={port} user={user}\n[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {place}\n\
             auth_type = any\npool_mode = session\nmax_client_conn = 200\ndefault_pool_size = 100\n\
             ignore_startup_parameters = extra_float_digits, options\n"
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(PROGRAM);
        if geteuid().is_root() {
            // It refuses to run as root.
            let account = User::from_name("postgres").unwrap().unwrap();
            chown(directory.path(), Some(account.uid.as_raw()), None).unwrap();
            command.args(["-u", "postgres"]);
        }
        let program = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let socket = directory.path().join(".s.PGSQL.6432");
        until("the pooler listens", async || socket.exists()).await;
        let mut url = format!("postgres://{user}@{}:6432{}", place.to_string().replace('/', "%2F"), server.path());
        if let Some(query) = server.query() {
            url = format!("{url}?{query}");
        }
        Self { url, _program: program, _directory: directory }
    }
}

#[tokio::test]
#[expect(clippy::print_stderr, reason = "what is not tried is said")]
async fn behind_a_pooler_in_session_mode_sessions_have_their_settings_and_hear_notifications() {
    if !Path::new(PROGRAM).exists() {
        eprintln!("not tried: PgBouncer is not installed");
        return;
    }
    let pooler = Pooler::start(&database::fresh().await).await;
    let here = World::on(&pooler.url, &[]).await;
    let settings = "select string_agg(current_setting(name), ' ') from unnest(array['statement_timeout', 'timezone', 'jit']) as name";
    let settings: String = sqlx::query_scalar(settings).fetch_one(&here.pool).await.unwrap();
    assert_eq!(settings, "5s UTC off");

    let there = here.another_instance();
    let (receiver, _) = here.subscriber("shop.test").await;
    let mut heard = Notifications::listen(&here.pool, &[events::PUBLISHED]).await.unwrap();
    here.state.webhooks.start_worker(&here.lifecycle);
    there.register(PHONE).await;
    in_time("the notification arrives", heard.next()).await.unwrap();
    receiver.waits_for(1).await;
}
