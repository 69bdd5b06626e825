//! `portico gateway create` and `gateway rotate`: a company's account at a payment gateway.

use std::io::{IsTerminal, Read, stdin};

use clap::Subcommand;
use secrecy::SecretString;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::create::{named, on_database};
use crate::cli::output::complain;
use crate::companies::gateways::{self, GatewayDriver, SecretKey};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::set_up::application_key;

#[derive(Debug, Subcommand)]
pub(super) enum GatewayCommand {
    /// Create a gateway; its secret key is read from standard input, to keep it out of process lists and shell histories
    Create {
        /// Company that owns the gateway, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// Driver of the gateway: card
        #[arg(long)]
        driver: GatewayDriver,
        /// Name of the gateway
        #[arg(long, default_value = "Cards")]
        name: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace a gateway's secret key with the one on standard input; saved cards are not affected
    Rotate {
        /// Gateway, as an id (gateway_…) or UUID
        gateway: GatewayId,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

impl GatewayCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let (key, secret_key) = (application_key(config)?, read_secret_key()?);
        match self {
            Self::Create { company, driver, name, json } => {
                on_database(config, json, async |pool| {
                    let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
                    let id = gateways::create_gateway(conn, &key, company, driver, &named(&name)?, &secret_key, now).await?;
                    Ok(json!({ "gateway": { "id": id, "uuid": id.uuid(), "company": company, "name": name } }))
                })
                .await
            }
            Self::Rotate { gateway, json } => {
                on_database(config, json, async |pool| {
                    gateways::rotate_secret_key(&mut *pool.acquire().await?, &key, gateway, &secret_key, Clock::System.now()).await?;
                    Ok(json!({ "gateway": { "id": gateway, "uuid": gateway.uuid() } }))
                })
                .await
            }
        }
    }
}

/// Room for the longest key and a line end. More input than that is not a key.
const LIMIT: u64 = 1024;

fn read_secret_key() -> Result<SecretKey, Failure> {
    if stdin().is_terminal() {
        complain("The gateway's secret key, then Enter and Ctrl-D:");
    }
    let mut text = String::new();
    stdin().take(LIMIT).read_to_string(&mut text)?;
    Ok(SecretKey::parse(&SecretString::from(text))?)
}
