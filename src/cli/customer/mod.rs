//! `portico customer export` and `customer import`.

mod export;
mod import;

use clap::Subcommand;

use crate::cli::Failure;
use crate::config::Config;
use crate::kernel::ids::CustomerId;

#[derive(Debug, Subcommand)]
pub(super) enum CustomerCommand {
    /// Print the stored data of a customer as JSON: record, sign-ins, devices, texts, orders, payments,
    /// the callbacks about these, and the events about the customer
    Export {
        /// The customer's id (customer_…) or UUID
        customer: CustomerId,
    },
    /// Import the customers of another service, with the passwords that they have. A file that was interrupted, or mended, is given again
    Import(import::Arguments),
}

impl CustomerCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Export { customer } => export::run(config, customer).await,
            Self::Import(arguments) => import::run(config, &arguments).await,
        }
    }
}
