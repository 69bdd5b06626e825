//! The command line.

mod create;
mod customers;
mod doctor;
mod gateway;
mod healthcheck;
mod keys;
mod listen;
mod output;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::Config;
use crate::dev;
use crate::kernel::clock::Clock;
use crate::kernel::open_files;
use crate::kernel::telemetry::{self, chain};
use crate::serve;
use crate::set_up::SetUp;

pub(crate) use output::say;

/// Storefront sign-in and a webhook hub, one binary on one Postgres.
#[derive(Debug, Parser)]
#[command(name = "portico", version)]
struct Arguments {
    /// A TOML file with the settings that differ from the defaults
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer requests and deliver events (what happens without a command)
    Serve(serve::Arguments),
    /// Bring the database up to this version
    Migrate,
    /// Show the demonstration company's keys, creating them if need be
    Demo {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// As variables for a shell: URL, STORE_KEY, API_KEY
        #[arg(long, conflicts_with = "json")]
        shell: bool,
    },
    /// Check database, migrations, clock, certificates, providers and declared extensions, and say what is wrong
    Doctor,
    /// Fail unless the service on this machine is alive (for container platforms)
    Healthcheck,
    /// Receive deliveries over HTTPS, verify their signatures and print them
    Receive(dev::receive::Arguments),
    /// Pass the events of a running service on to an address of this machine, signed like deliveries
    Listen(listen::Arguments),
    /// Companies
    #[command(subcommand)]
    Company(create::CompanyCommand),
    /// Stores
    #[command(subcommand)]
    Store(create::StoreCommand),
    /// Store keys and API keys
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Accounts at payment gateways
    #[command(subcommand)]
    Gateway(gateway::GatewayCommand),
    /// Customers
    #[command(subcommand)]
    Customer(customers::CustomerCommand),
    /// Tokens of customers
    #[command(subcommand)]
    Token(customers::TokenCommand),
}

/// A command failed; its causes are the chain of errors.
type Failure = Box<dyn std::error::Error>;

/// Runs the program and says why when it fails.
pub fn run() -> ExitCode {
    match start(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            output::complain(&format!("portico: {}", chain(&*error)));
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Arguments) -> Result<ExitCode, Failure> {
    rustls::crypto::aws_lc_rs::default_provider().install_default().map_err(|_| "two TLS libraries want to be the default")?;
    let config = Config::load(arguments.config.as_deref())?;
    telemetry::start(&config.log)?;
    if let Err(error) = open_files::raise_limit() {
        tracing::warn!(error = chain(&error), "the limit of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(command(arguments.command.unwrap_or(Command::Serve(serve::Arguments::default())), config))
}

async fn command(command: Command, config: Config) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(arguments) => serve::run(config, arguments).await?,
        Command::Migrate => migrate(&config).await?,
        Command::Demo { json, shell } => demo(&config, json, shell).await?,
        Command::Doctor => return doctor::run(&config).await,
        Command::Healthcheck => healthcheck::run(&config).await?,
        Command::Receive(arguments) => {
            let authority = dev::authority::Authority::open(&config.data_dir())?;
            dev::receive::run(arguments, &authority, || Clock::System.now(), serve::asked_to_stop()).await?;
        }
        Command::Listen(arguments) => listen::run(arguments, serve::asked_to_stop()).await?,
        Command::Company(command) => command.run(&config).await?,
        Command::Store(command) => command.run(&config).await?,
        Command::Key(command) => command.run(&config).await?,
        Command::Gateway(command) => command.run(&config).await?,
        Command::Customer(command) => command.run(&config).await?,
        Command::Token(command) => command.run(&config).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn migrate(config: &Config) -> Result<(), Failure> {
    let set_up = SetUp::new(config).await?;
    let migrated = set_up.migrate().await;
    set_up.stop().await;
    migrated?;
    say("The database is of this version.");
    Ok(())
}

async fn demo(config: &Config, json: bool, shell: bool) -> Result<(), Failure> {
    let set_up = SetUp::new(config).await?;
    set_up
        .on_this_version(config, async |pool| {
            let demo = dev::demo::Demo::open(pool, config, &Clock::System).await?;
            say(&match (json, shell) {
                (true, _) => serde_json::to_string_pretty(&demo)?,
                (_, true) => demo.assignments(),
                (false, false) => demo.banner(),
            });
            Ok(())
        })
        .await
}
