//! `portico docs`: the documentation of this deployment as files for other programs.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::app::{self, AppState, Dependencies, Process};
use crate::cli::Failure;
use crate::config::Config;
use crate::handbook::{Handbook, bruno};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::terminal::say;
use crate::webhooks::Resolver;

/// The file that makes a directory a collection.
const COLLECTION: &str = "bruno.json";

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Write all operations as a collection for Bruno (https://www.usebruno.com) to this directory
    #[arg(long, value_name = "DIR")]
    bruno: PathBuf,
    /// The address of the service in the collection; without it, that of http.listen
    #[arg(long, value_name = "URL")]
    url: Option<url::Url>,
}

/// Writes the collection. Files of the directory that are not part of it stay, and so does an environment that somebody has changed.
pub(super) fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let directory = &arguments.bruno;
    let is_empty = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error.into()),
    };
    if !is_empty && !directory.join(COLLECTION).exists() {
        return Err(format!("{} has files that are not of a collection: choose another directory", directory.display()).into());
    }
    let listen = || format!("http://{}", config.http.listen);
    let base = arguments.url.as_ref().map_or_else(listen, |url| url.as_str().trim_end_matches('/').to_owned());
    let files = bruno::collection(handbook(config)?.contents(), &base);
    let requests = files.len();
    for (path, text) in files {
        let file = directory.join(&path);
        fs::create_dir_all(file.parent().unwrap_or(directory))?;
        if !(path.starts_with("environments") && file.exists()) {
            fs::write(file, text)?;
        }
    }
    say(&format!(
        "{requests} files were written to {}. Open the directory in Bruno, and enter your keys in its environment.",
        directory.display()
    ));
    Ok(())
}

/// The documentation of a service with these settings. The routes describe themselves without a database, so none is connected to.
pub(super) fn handbook(config: &Config) -> Result<Handbook, Failure> {
    let nothing_runs = CancellationToken::new();
    nothing_runs.cancel();
    let dependencies = Dependencies {
        clock: Clock::System,
        application_key: ApplicationKey::parse(&ApplicationKey::generate())?,
        resolver: Resolver::system(),
        hashing: PasswordHashing::with_threads(NonZeroUsize::MIN),
        lifecycle: Lifecycle::until(nothing_runs),
        mailbox: None,
    };
    let pool = database::pool(&"postgres://localhost/portico".parse()?, &config.database);
    Ok(app::handbook(&AppState::new(&Process::new(config, dependencies)?, pool)))
}
