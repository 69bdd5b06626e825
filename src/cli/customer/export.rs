//! `portico customer export`: prints the stored data of one customer.

use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::config::Config;
use crate::fleet::orders::Order;
use crate::gateways::{self, Payment};
use crate::kernel::ids::CustomerId;
use crate::kernel::terminal::say;
use crate::{events, resources, storefront};

pub(super) async fn run(config: &Config, customer: CustomerId) -> Result<(), Failure> {
    let key = application_key(config)?;
    let database = Database::new(config).await?;
    database
        .with_migrated(config, async |pool| {
            let mut conn = pool.acquire().await?;
            let exported = storefront::export_customer(&mut conn, Some(&key), customer).await?;
            let storefront::Exported { company, mut document } =
                exported.ok_or_else(|| NotFound(format!("there is no customer {customer}")))?;
            document["orders"] = resources::export_of::<Order>(&mut conn, company, customer).await?;
            document["payments"] = resources::export_of::<Payment>(&mut conn, company, customer).await?;
            document["callbacks"] = gateways::export_callbacks(&mut conn, company, customer).await?;
            document["events"] = events::export_events(&mut conn, company, customer.uuid()).await?;
            say(&serde_json::to_string_pretty(&document)?);
            Ok(())
        })
        .await
}
