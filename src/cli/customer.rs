//! `portico customer export`: the data kept of one customer.

use clap::Subcommand;

use crate::cli::{Failure, say};
use crate::config::Config;
use crate::kernel::ids::CustomerId;
use crate::set_up::SetUp;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum CustomerCommand {
    /// Print everything that is kept of a customer, as JSON
    Export {
        /// The customer's id (customer_…) or UUID
        customer: CustomerId,
    },
}

impl CustomerCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Export { customer } = self;
        let set_up = SetUp::new(config).await?;
        set_up
            .on_this_version(config, async |pool| {
                let exported = storefront::export_customer(&mut *pool.acquire().await?, customer).await?;
                say(&serde_json::to_string_pretty(&exported.ok_or_else(|| format!("there is no customer {customer}"))?)?);
                Ok(())
            })
            .await
    }
}
