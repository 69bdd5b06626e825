//! The command line.
//!
//! There are three kinds of commands. Some are for this installation (`serve`, `migrate`, `doctor`, `healthcheck`, `demo`, `receive`,
//! `docs`, `completions`, `man`), some work on its database (`company`, `store`, `key`, `operator`, `gateway`, `customer`, `token`, `backup`,
//! `restore`, `keys`), and those of [`service`] and `listen` ask a running service with an API key. Records are lines and tables for people
//! ([`layout`]) and JSON for programs, and all commands end with the same codes ([`exit`]). `docs/commands.md` is their guide.

mod backups;
mod cell;
mod company;
mod confirmation;
mod customer;
mod docs;
mod doctor;
mod exit;
mod gateway;
mod healthcheck;
mod key;
mod keys;
mod layout;
mod listen;
mod man_pages;
mod migrate;
mod moving;
mod operator;
mod placement;
mod progress;
mod record;
mod secret_input;
mod service;
mod store;
mod token;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::bootstrap::{BootstrapError, Database, settings_of_cell};
use crate::cli::exit::Exit;
use crate::config::{Config, Environment};
use crate::dev;
use crate::kernel::clock::Clock;
use crate::kernel::database::CellName;
use crate::kernel::error_chain::chain;
use crate::kernel::logging;
use crate::kernel::open_files;
use crate::kernel::signals;
use crate::kernel::terminal::{complain, say};
use crate::serve;

/// Storefront sign-in and a webhook hub in one binary on one Postgres database
#[derive(Debug, Parser)]
#[command(name = "portico", version, after_help = exit::CODES)]
struct Arguments {
    /// TOML file with the settings that differ from the defaults
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The cell whose database the command works on, if there are several
    #[arg(long, global = true, value_name = "NAME")]
    cell: Option<CellName>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve requests and deliver events (default)
    Serve(serve::Arguments),
    /// Apply pending migrations to the database, or to those of all cells
    Migrate(migrate::Arguments),
    /// Back up the database, with what it needs to be restored
    Backup(backups::backup::Arguments),
    /// Restore a backup into an empty database
    Restore(backups::restore::Arguments),
    /// Show the keys of the demonstration company, creating it if needed
    Demo {
        /// Print as JSON
        #[arg(long)]
        json: bool,
        /// Print as shell variables: URL, STORE_KEY, API_KEY, and PORTICO_URL and PORTICO_API_KEY for the commands that ask a service
        #[arg(long, conflicts_with = "json")]
        shell: bool,
    },
    /// Check configuration, database, migrations, clock, certificates, providers, traces, messages, stored secrets and declared extensions,
    /// and explain problems
    Doctor,
    /// Print the completions for a shell: bash, elvish, fish, powershell, zsh
    Completions(man_pages::CompletionsArguments),
    /// Write the manual pages of all commands to a directory
    Man(man_pages::ManArguments),
    /// Write the documentation of this deployment for other programs
    Docs(docs::Arguments),
    /// Fail unless the service on this machine is alive (for container platforms)
    Healthcheck(healthcheck::Arguments),
    /// Receive deliveries over HTTPS, verify their signatures and print them
    Receive(dev::receive::Arguments),
    /// Forward the events of a running service to a local URL, signed like deliveries
    Listen(listen::Arguments),
    /// Cells: the databases that companies live in
    #[command(subcommand)]
    Cell(cell::CellCommand),
    /// Companies
    #[command(subcommand)]
    Company(company::CompanyCommand),
    /// Stores
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Store keys and API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// The application key
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Operators: the people who are mailed when a webhook fails, and who sign in to the console
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    /// Accounts at payment gateways
    #[command(subcommand)]
    Gateway(gateway::GatewayCommand),
    /// Customers
    #[command(subcommand)]
    Customer(customer::CustomerCommand),
    /// Customer tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
}

impl Command {
    /// Whether it ends what it has begun when a signal asks it to stop.
    fn stops_in_order(&self) -> bool {
        match self {
            Self::Company(command) => command.stops_in_order(),
            Self::Cell(command) => command.stops_in_order(),
            Self::Serve(_) | Self::Receive(_) | Self::Listen(_) | Self::Keys(_) | Self::Backup(_) | Self::Restore(_) => true,
            _ => false,
        }
    }

    /// Whether it works on one database, and has to be told which if there are several.
    fn is_of_one_cell(&self) -> bool {
        match self {
            Self::Company(command) => command.is_of_one_cell(),
            Self::Backup(_) | Self::Restore(_) | Self::Store(_) | Self::Key(_) | Self::Keys(_) => true,
            Self::Operator(_) | Self::Gateway(_) | Self::Customer(_) | Self::Token(_) => true,
            _ => false,
        }
    }

    /// The settings, with the database of the named cell as the only one.
    fn settings(&self, config: Config, cell: Option<&CellName>) -> Result<Config, BootstrapError> {
        match cell {
            Some(name) => settings_of_cell(&config, name),
            None if self.is_of_one_cell() && !config.database.cells.is_empty() => {
                Err(BootstrapError::WhichCell(config.cells().into_iter().map(|cell| cell.database.name).collect()))
            }
            None => Ok(config),
        }
    }
}

/// An error of a command. The causes are its chain of sources.
type Failure = Box<dyn std::error::Error>;

/// Everything that the command line understands.
fn program() -> clap::Command {
    service::add_to(Arguments::command())
}

/// Runs the program, and prints the error if it fails.
pub fn run() -> ExitCode {
    start().unwrap_or_else(|error| {
        complain(&format!("portico: {}", chain(&*error)));
        Exit::of(&*error).into()
    })
}

fn start() -> Result<ExitCode, Failure> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().map_err(|_| "a default TLS library is already installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // What describes the API is made like a service, which wants a runtime.
    let inside = runtime.enter();
    let matches = program().get_matches();
    if let Some((action, matches)) = service::asked_for(&matches) {
        signals::end_program();
        return Ok(match runtime.block_on(service::run(&action, matches)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => service::explain(&error, matches).into(),
        });
    }
    drop(inside);
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut program()).exit());
    let command = arguments.command.unwrap_or(Command::Serve(serve::Arguments::default()));
    let config = command.settings(Config::load(arguments.config.as_deref())?, arguments.cell.as_ref())?;
    logging::start(&config.log)?;
    if let Err(error) = open_files::raise_limit() {
        tracing::warn!(error = chain(&error), "the limit of open files could not be raised");
    }
    runtime.block_on(run_command(command, config))
}

async fn run_command(command: Command, config: Config) -> Result<ExitCode, Failure> {
    if !command.stops_in_order() {
        signals::end_program();
    }
    match command {
        Command::Serve(arguments) => serve::run(config, arguments).await?,
        Command::Migrate(arguments) => migrate::run(&config, &arguments).await?,
        Command::Backup(arguments) => backups::backup::run(&config, &arguments).await?,
        Command::Restore(arguments) => backups::restore::run(&config, &arguments).await?,
        Command::Demo { json, shell } => demo(&config, json, shell).await?,
        Command::Doctor => return doctor::run(&config).await,
        Command::Completions(arguments) => man_pages::print_completions(&arguments)?,
        Command::Man(arguments) => man_pages::write_pages(&arguments)?,
        Command::Docs(arguments) => docs::run(&config, &arguments)?,
        Command::Healthcheck(arguments) => healthcheck::run(&config, &arguments).await?,
        Command::Receive(arguments) => {
            let authority = dev::authority::Authority::open(&config.data_dir())?;
            dev::receive::run(arguments, &authority, || Clock::System.now(), signals::shutdown()).await?;
        }
        Command::Listen(arguments) => listen::run(arguments, signals::shutdown()).await?,
        Command::Cell(command) => command.run(&config).await?,
        Command::Company(command) => command.run(&config).await?,
        Command::Store(command) => command.run(&config).await?,
        Command::Key(command) => command.run(&config).await?,
        Command::Keys(command) => return command.run(&config).await,
        Command::Operator(command) => command.run(&config).await?,
        Command::Gateway(command) => command.run(&config).await?,
        Command::Customer(command) => command.run(&config).await?,
        Command::Token(command) => command.run(&config).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn demo(config: &Config, json: bool, shell: bool) -> Result<(), Failure> {
    if config.environment() == Environment::Production {
        return Err("the demonstration company exists in development only".into());
    }
    let database = Database::new(config).await?;
    database
        .with_migrated(config, async |pool| {
            let demo = dev::demo::Demo::open(pool, config, &pool.clock(), None).await?;
            say(&match (json, shell) {
                (true, _) => serde_json::to_string_pretty(&demo)?,
                (_, true) => demo.assignments(),
                (false, false) => demo.banner(demo.link(pool, &pool.clock()).await?.as_ref()),
            });
            Ok(())
        })
        .await
}
