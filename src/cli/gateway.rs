//! `portico gateway create` and `gateway rotate`: a company's account at a payment gateway.

use clap::Subcommand;
use serde_json::json;

use crate::bootstrap::application_key;
use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::record::{self, parse_name};
use crate::cli::secret_input::read_secret;
use crate::config::Config;
use crate::gateways::drivers::{self, GatewayDriver};
use crate::gateways::{self, GatewayError, SecretKey};
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::resources::Line;

#[derive(Debug, Subcommand)]
pub(super) enum GatewayCommand {
    /// Create a gateway; its secret key is read from standard input, to keep it out of process lists and shell histories
    Create {
        /// The company that owns it, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// The driver, such as card
        #[arg(long, value_parser = drivers::named)]
        driver: &'static dyn GatewayDriver,
        /// The gateway's name
        #[arg(long, default_value = "Cards", value_parser = parse_name)]
        name: Line<255>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace a gateway's secret key with the one on standard input; saved cards are not affected
    Rotate {
        /// The gateway, as an id (gateway_…) or UUID
        gateway: GatewayId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl GatewayCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let (key, secret_key) = (application_key(config)?, SecretKey::parse(&read_secret("The gateway's secret key")?)?);
        match self {
            Self::Create { company, driver, name, json } => {
                let name = String::from(name);
                record::print_one(config, json, async |pool| {
                    let (conn, caller) = (&mut *pool.acquire().await?, Caller::command_line(company));
                    let id = gateways::create_gateway(conn, &key, &caller, driver, &name, &secret_key, Clock::System.now()).await?;
                    Ok(json!({ "gateway": { "id": id, "uuid": id.uuid(), "company": company, "name": name } }))
                })
                .await
            }
            Self::Rotate { gateway, json } => {
                record::print_one(config, json, async |pool| {
                    let conn = &mut *pool.acquire().await?;
                    let company = gateways::company_of_gateway(conn, gateway).await?.ok_or(GatewayError::GatewayUnknown(gateway))?;
                    let caller = Caller::command_line(company);
                    gateways::rotate_secret_key(conn, &key, &caller, gateway, &secret_key, Clock::System.now()).await?;
                    Ok(json!({ "gateway": { "id": gateway, "uuid": gateway.uuid() } }))
                })
                .await
            }
        }
    }
}
