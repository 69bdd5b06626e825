//! The `serve` command: bind, start the workers, and shut everything down in order, the database last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::app::{self, AppState, Outside, StateError};
use crate::cli::say;
use crate::config::{Config, Environment};
use crate::declared::Unsuitable;
use crate::dev::authority::AuthorityError;
use crate::dev::demo::{Demo, DemoError};
use crate::dev::workspace::trust_loopback;
use crate::kernel::clock::Clock;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::listening;
use crate::kernel::telemetry::chain;
use crate::providers::mailbox::Mailbox;
use crate::set_up::{SetUp, SetUpError, application_key};
use crate::webhooks::Names;

/// The time that workers get to finish their work during shutdown.
const PATIENCE: Duration = Duration::from_secs(15);
/// The interval at which expired data is removed.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// `portico serve`
#[derive(Args, Debug, Default)]
pub struct Arguments {
    /// Apply pending migrations first (development always does)
    #[arg(long)]
    migrate: bool,
    /// Serve requests only; events wait for an instance that delivers them
    #[arg(long)]
    no_worker: bool,
}

/// The reason why the service did not start, or why it stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The database or the application key cannot be used.
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    /// Development mode listens on loopback only.
    #[error("development listens on loopback only, not on {0} (environment = \"production\" listens anywhere)")]
    NotLoopback(SocketAddr),
    /// The address is in use or does not belong to this machine.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The settings of a module are invalid.
    #[error(transparent)]
    State(#[from] StateError),
    /// The declared extensions do not match the database.
    #[error("the declared extensions do not suit the database")]
    Declared(#[from] Unsuitable),
    /// The certificate authority of development cannot be used.
    #[error("the certificate authority of development cannot be used")]
    Authority(#[from] AuthorityError),
    /// The demonstration company could not be created.
    #[error("the demonstration company could not be created")]
    Demo(#[from] DemoError),
    /// The server failed.
    #[error("the server broke off")]
    Server(#[source] io::Error),
}

/// Serves until shutdown is requested.
pub async fn run(mut config: Config, arguments: Arguments) -> Result<(), ServeError> {
    let development = config.environment() == Environment::Development;
    if development && !config.http.listen.ip().is_loopback() {
        return Err(ServeError::NotLoopback(config.http.listen));
    }
    if development {
        trust_loopback(&mut config)?;
    }
    let set_up = SetUp::new(&config).await?;
    let served = serve(&config, &arguments, &set_up, development).await;
    set_up.stop().await;
    served
}

async fn serve(config: &Config, arguments: &Arguments, set_up: &SetUp, development: bool) -> Result<(), ServeError> {
    let application_key = application_key(config)?;
    if development || arguments.migrate {
        set_up.migrate().await?;
    }
    let listen = config.http.listen;
    let listener = TcpListener::bind(listen).map_err(|source| ServeError::Bind { address: listen, source })?;
    let address = listener.local_addr().map_err(ServeError::Server)?;

    let lifecycle = Lifecycle::until(asked_to_stop());
    let outside = Outside {
        pool: set_up.pool.clone(),
        clock: Clock::System,
        application_key,
        names: Names::System,
        lifecycle: lifecycle.clone(),
        mailbox: development.then(Mailbox::default),
    };
    let state = AppState::new(config, outside)?;
    state.declared.start(&lifecycle).await?;
    sweep(&state, &lifecycle);
    if !arguments.no_worker {
        state.webhooks.start_worker(&lifecycle);
        state.gateways.start_worker(&lifecycle);
    }
    if development {
        say(&Demo::open(&set_up.pool, config, &Clock::System, Some(address)).await?.banner());
    }
    tracing::info!(%address, "listening");

    let answered = listening::answer(listener, app::router(state, config), config.http.header_timeout, lifecycle.stopping().clone()).await;
    if timeout(PATIENCE, lifecycle.stop()).await.is_err() {
        tracing::warn!("some work did not end in time");
    }
    answered.map_err(ServeError::Server)
}

/// Removes expired data once a minute.
fn sweep(state: &AppState, lifecycle: &Lifecycle) {
    let (state, until) = (state.clone(), lifecycle.clone());
    lifecycle.spawn(async move {
        let minute = || async {
            for swept in [state.storefront.sweep().await, state.developers.sweep().await] {
                if let Err(error) = swept {
                    tracing::warn!(error = chain(&error), "what is over was not swept");
                }
            }
        };
        until.every(SWEEP_EVERY, minute).await;
    });
}

/// A token that is cancelled by SIGINT (Ctrl-C) or SIGTERM. A second signal ends the program immediately.
pub fn asked_to_stop() -> CancellationToken {
    let token = CancellationToken::new();
    let asked = token.clone();
    let listening = async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else { return };
        loop {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
            if asked.is_cancelled() {
                std::process::exit(130);
            }
            asked.cancel();
        }
    };
    #[expect(clippy::disallowed_methods, reason = "it must outlive everything that is stopped, to hear the second signal")]
    tokio::spawn(listening);
    token
}
