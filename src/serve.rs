//! The `serve` command: bind, start the workers, and shut everything down in order, the database last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use axum::Router;
use clap::Args;
use futures::future::try_join_all;
use tokio::time::timeout;

use crate::app::{self, AdminListener, AppState, Cell, Cells, Dependencies, Metrics, Process, SetupError};
use crate::bootstrap::{BootstrapError, Database, application_key, settings_of_cell};
use crate::config::{Config, Environment};
use crate::declared::Unsuitable;
use crate::dev::authority::AuthorityError;
use crate::dev::demo::{Demo, DemoError};
use crate::dev::workspace::trust_loopback;
use crate::kernel::database::CellName;
use crate::kernel::error_chain::chain;
use crate::kernel::http_server;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::signals;
use crate::kernel::terminal::say;
use crate::providers::mailbox::Mailbox;
use crate::webhooks::{LONGEST_ATTEMPT, Resolver};

/// The time in which the workers write down what the last attempts came to.
const RECORDING_TIME: Duration = Duration::from_secs(5);
/// The time that workers get to finish their work during shutdown: an attempt that is cut off would be made again.
const SHUTDOWN_GRACE: Duration = LONGEST_ATTEMPT.saturating_add(RECORDING_TIME);

/// `portico serve`
#[derive(Args, Debug, Default)]
pub struct Arguments {
    /// Apply pending migrations first (development always does)
    #[arg(long)]
    migrate: bool,
    /// Serve requests only; another instance must deliver events
    #[arg(long)]
    no_worker: bool,
    /// Serve only these cells; other instances must serve the others
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    cells: Vec<CellName>,
}

/// A cell that is served, with its database.
struct Served {
    config: Config,
    database: Database,
}

/// The reason why the service did not start, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The database or the application key cannot be used.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// Development mode listens on loopback only.
    #[error("development listens on loopback only, not on {0} (environment = \"production\" listens anywhere)")]
    NotLoopback(SocketAddr),
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {address}")]
    Bind {
        /// `http.listen` or `http.admin_listen`
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The settings of a module are invalid.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The declared extensions do not match the database.
    #[error("the declared extensions do not match the database")]
    Declared(#[from] Unsuitable),
    /// The certificate authority of development cannot be used.
    #[error("the development certificate authority cannot be used")]
    Authority(#[from] AuthorityError),
    /// The demonstration company could not be created.
    #[error("the demonstration company could not be created")]
    Demo(#[from] DemoError),
    /// The server failed.
    #[error("the server failed")]
    Server(#[source] io::Error),
}

/// Serves until shutdown is requested.
pub async fn run(mut config: Config, arguments: Arguments) -> Result<(), ServeError> {
    let development = config.environment() == Environment::Development;
    let outside = |address: &SocketAddr| !address.ip().is_loopback();
    if development && let Some(address) = [Some(config.http.listen), config.http.metrics_address()].into_iter().flatten().find(outside) {
        return Err(ServeError::NotLoopback(address));
    }
    if development {
        trust_loopback(&mut config)?;
    }
    let mut cells = Vec::new();
    for config in chosen(&config, &arguments.cells)? {
        let database = Database::new(&config).await?;
        cells.push(Served { config, database });
    }
    let served = serve(&config, &arguments, &cells, development).await;
    for Served { database, .. } in cells {
        database.stop().await;
    }
    served
}

/// The settings of the cells with these names, or of all if none are named.
fn chosen(config: &Config, names: &[CellName]) -> Result<Vec<Config>, BootstrapError> {
    match names {
        [] => Ok(config.cells()),
        names => names.iter().map(|name| settings_of_cell(config, name)).collect(),
    }
}

async fn serve(config: &Config, arguments: &Arguments, served: &[Served], development: bool) -> Result<(), ServeError> {
    let application_key = application_key(config)?;
    let (asked_to_stop, lifecycle) = (signals::shutdown(), Lifecycle::default());
    let preparing = try_join_all(served.iter().map(|cell| prepare(arguments, &cell.database, development, &lifecycle)));
    let Some(prepared) = asked_to_stop.run_until_cancelled(preparing).await else {
        lifecycle.stop().await;
        tracing::info!("stopped before the database was prepared");
        return Ok(());
    };
    prepared?;
    lifecycle.leave_at(asked_to_stop, config.shutdown_delay());
    let listen = config.http.listen;
    let listener = http_server::listen(listen).map_err(|source| ServeError::Bind { address: listen, source })?;
    let address = listener.local_addr().map_err(ServeError::Server)?;
    let admin = AdminListener::bind(&config.http).map_err(|(address, source)| ServeError::Bind { address, source })?;

    let first = &served[0];
    let dependencies = Dependencies {
        clock: first.database.pool.clock(),
        application_key,
        resolver: Resolver::system(),
        hashing: PasswordHashing::start(),
        lifecycle: lifecycle.clone(),
        mailbox: development.then(Mailbox::default),
    };
    let process = Process::new(config, dependencies)?;
    let starting = served.iter().map(|cell| start(&process, cell, arguments, &lifecycle));
    let cells = Cells::new(try_join_all(starting).await?);
    let traces = cells.first().state.traces.clone();
    if development {
        let pool = &first.database.pool;
        let demo = Demo::open(pool, &first.config, &pool.clock(), Some(address)).await?;
        say(&demo.banner(demo.link(pool, &pool.clock()).await?.as_ref()));
    }
    if let Some(admin) = admin {
        admin.serve(Metrics::new(cells.clone()), &lifecycle);
    }
    if cells.are_several() {
        tracing::info!(cells = cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>().join(", "), "serving several cells");
    }
    tracing::info!(%address, "listening");

    let answered = answer(listener, app::router(cells, config), config, &lifecycle).await;
    tracing::info!("no request is left; deliveries in flight get {SHUTDOWN_GRACE:?} to end");
    match timeout(SHUTDOWN_GRACE, lifecycle.stop()).await {
        Ok(()) => tracing::info!("stopped"),
        Err(_) => tracing::warn!("stopped, although some tasks did not end in time for the shutdown"),
    }
    traces.stop().await;
    answered.map_err(ServeError::Server)
}

/// Makes the state of a cell, and starts its work in the background.
async fn start(process: &Process, served: &Served, arguments: &Arguments, lifecycle: &Lifecycle) -> Result<Cell, ServeError> {
    let (name, state) = (served.config.database.name.clone(), AppState::new(process, served.database.pool.clone()));
    state.declared.start(lifecycle).await?;
    if let Err(error) = state.webhooks.create_partitions().await {
        tracing::warn!(cell = %name, error = chain(&error), "the partitions of the delivery log could not be created; the worker tries again");
    }
    state.start_sweeping(lifecycle);
    if !arguments.no_worker {
        state.webhooks.start_worker(lifecycle);
        state.gateways.start_worker(lifecycle);
        state.operators.start_worker(lifecycle);
    }
    Ok(Cell { name, state })
}

/// Answers requests until `lifecycle` ends and those in flight have ended.
async fn answer(listener: TcpListener, router: Router, config: &Config, lifecycle: &Lifecycle) -> io::Result<()> {
    let leftover = http_server::serve(listener, router, config.http.limits(), lifecycle.stopping().clone()).await?;
    tracing::info!(
        connections = leftover.connections(),
        "no further connections are accepted; requests in flight get {:?} to end",
        http_server::SHUTDOWN_GRACE
    );
    leftover.end().await;
    Ok(())
}

/// Migrates the database, or makes sure that migrations lead to a schema that this version can work with.
async fn prepare(arguments: &Arguments, database: &Database, development: bool, lifecycle: &Lifecycle) -> Result<(), BootstrapError> {
    match (development, arguments.migrate) {
        (true, _) => database.migrate().await.map(drop),
        (false, true) => database.migrate_when_there(lifecycle).await,
        (false, false) => database.must_be_within_reach().await,
    }
}
