//! `portico gateway create` and `gateway rotate`: a company's account at a payment gateway.

use clap::Subcommand;
use humantime_serde::re::humantime;
use serde_json::json;

use crate::bootstrap::application_key;
use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::exit::{NotAccepted, NotFound};
use crate::cli::record::{self, parse_name};
use crate::cli::secret_input::read_secret;
use crate::config::Config;
use crate::events::CommitNotifier;
use crate::gateways::drivers::{self, GatewayDriver};
use crate::gateways::{Gateway, GatewayBody, GatewaySigningSecret, Gateways, SecretKey};
use crate::kernel::clock::timestamp;
use crate::kernel::database::Pool;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::Problem;
use crate::providers::card::Card;
use crate::resources::{GracePeriod, IfMatch, Line, operations};

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
    /// Replace a gateway's secret key, or its signing secret, with the one on standard input; saved cards are not affected
    Rotate {
        /// The gateway, as an id (gateway_…) or UUID
        gateway: GatewayId,
        /// Replace the secret that the gateway signs its callbacks with instead
        #[arg(long)]
        signing_secret: bool,
        /// How long callbacks that are signed with the previous signing secret are accepted as well
        #[arg(long, default_value = "1d", requires = "signing_secret")]
        overlap: humantime::Duration,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl GatewayCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let key = application_key(config)?;
        let card = Card::new(&config.providers.card)?;
        let gateways = |pool: &Pool| {
            let (notifier, lifecycle) = (CommitNotifier::default(), Lifecycle::default());
            Gateways::new(pool.clone(), pool.clock(), key, notifier, &config.gateways, card, &lifecycle)
        };
        match self {
            Self::Create { company, driver, name, json } => {
                if !driver.needs_secret_key() {
                    return Err(format!("{}; create it with POST ledger/int/v1/gateways", no_secret_key(driver)).into());
                }
                let secret_key = SecretKey::parse(&read_secret("The gateway's secret key")?).map_err(NotAccepted::of)?;
                record::print_one(config, json, async |pool| {
                    let (gateways, caller) = (gateways(pool), record::caller_of(pool, company).await?);
                    let body = GatewayBody::of(driver, name, secret_key);
                    let created = operations::create::<Gateway>(&gateways, &caller, body).await.map_err(not_created)?.record;
                    let (id, name) = (created.id, created.fields.name);
                    Ok(json!({ "gateway": { "id": id, "uuid": id.uuid(), "company": company, "name": name } }))
                })
                .await
            }
            Self::Rotate { gateway, signing_secret, overlap, json } => {
                let body = match signing_secret {
                    true => {
                        let overlap = GracePeriod::try_from(u32::try_from(overlap.as_secs())?).map_err(NotAccepted::of)?;
                        GatewayBody::signed_with(
                            GatewaySigningSecret::parse(&read_secret("The gateway's signing secret")?).map_err(NotAccepted::of)?,
                            overlap,
                        )
                    }
                    false => GatewayBody::rotating(SecretKey::parse(&read_secret("The gateway's secret key")?).map_err(NotAccepted::of)?),
                };
                record::print_one(config, json, async |pool| {
                    let gateways = gateways(pool);
                    let company = operations::company_of::<Gateway>(&gateways, gateway).await?;
                    let caller = Caller::command_line(company.ok_or_else(|| NotFound(format!("there is no gateway {gateway}")))?);
                    let before = operations::find::<Gateway>(&gateways, &caller, gateway).await?.record.fields;
                    let driver = drivers::named(&before.driver)?;
                    if !signing_secret && !driver.needs_secret_key() {
                        return Err(no_secret_key(driver).into());
                    }
                    let rotated =
                        operations::update::<Gateway>(&gateways, &caller, gateway, &IfMatch::default(), body).await?.record.fields;
                    let mut shown = json!({ "id": gateway, "uuid": gateway.uuid() });
                    if signing_secret {
                        shown["previous_signing_secret_until"] = json!(rotated.previous_signing_secret_until.map(timestamp));
                    }
                    Ok(json!({ "gateway": shown }))
                })
                .await
            }
        }
    }
}

/// Why a secret key is of no use to a gateway with this driver: it is not called.
fn no_secret_key(driver: &dyn GatewayDriver) -> String {
    format!("a gateway with the driver {} has no secret key", driver.name())
}

/// What can be done about a gateway that was refused.
fn not_created(problem: Problem) -> Failure {
    let field = problem.fields().into_keys().next().unwrap_or_default();
    match field.split_once('.').unwrap_or((&field, "")) {
        ("driver", _) => "the company already has an active card gateway; rotate its secret key instead".into(),
        ("settings", path) => {
            format!("a gateway with this driver needs settings ({path}: {problem}); create it with POST ledger/int/v1/gateways").into()
        }
        _ => problem.into(),
    }
}
