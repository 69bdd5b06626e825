//! `portico customer export`: prints the stored data of one customer.

use clap::Subcommand;

use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::config::Config;
use crate::fleet::orders::Order;
use crate::gateways::{self, Payment};
use crate::kernel::ids::CustomerId;
use crate::kernel::terminal::say;
use crate::{events, resources, storefront};

#[derive(Debug, Subcommand)]
pub(super) enum CustomerCommand {
    /// Print the stored data of a customer as JSON: record, sign-ins, devices, texts, orders, payments,
    /// the callbacks about these, and the events about the customer
    Export {
        /// The customer's id (customer_…) or UUID
        customer: CustomerId,
    },
}

impl CustomerCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Export { customer } = self;
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
}
