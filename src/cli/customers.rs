//! `portico customer export` and `portico token revoke`: what is done for one customer.

use clap::{Args, Subcommand};

use crate::cli::{Failure, say};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::set_up::{SetUp, application_key};
use crate::{fleet, gateways, storefront};

#[derive(Debug, Subcommand)]
pub(super) enum CustomerCommand {
    /// Print what is kept of a customer, as JSON: record, sign-ins, devices, texts, orders, payments; not the events that told of them
    Export {
        /// The customer's id (customer_…) or UUID
        customer: CustomerId,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// End sign-ins: the customer has to sign in again
    Revoke(RevokeTarget),
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct RevokeTarget {
    /// One sign-in, by the id that storefront/int/v1/tokens shows
    #[arg(long)]
    session: Option<SessionId>,
    /// Every sign-in of a customer
    #[arg(long)]
    customer: Option<CustomerId>,
}

impl CustomerCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Export { customer } = self;
        let key = application_key(config)?;
        let set_up = SetUp::new(config).await?;
        set_up
            .on_this_version(config, async |pool| {
                let mut conn = pool.acquire().await?;
                let exported = storefront::export_customer(&mut conn, &key, customer).await?;
                let storefront::Exported { company, mut document } = exported.ok_or_else(|| format!("there is no customer {customer}"))?;
                document["orders"] = fleet::orders::export_orders(&mut conn, company, customer).await?;
                document["payments"] = gateways::export_payments(&mut conn, company, customer).await?;
                say(&serde_json::to_string_pretty(&document)?);
                Ok(())
            })
            .await
    }
}

impl TokenCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Revoke(target) = self;
        let set_up = SetUp::new(config).await?;
        set_up
            .on_this_version(config, async |pool| {
                let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
                let revoked = match (target.session, target.customer) {
                    (Some(session), _) => storefront::revoke_session(conn, None, session, now).await?.map(|_| 1),
                    (None, Some(customer)) => storefront::revoke_customer(conn, None, customer, now).await?,
                    (None, None) => unreachable!("the command line asks for one of the two"),
                };
                let revoked = revoked.ok_or("there is no such sign-in or customer")?;
                say(&format!("{revoked} sign-ins ended."));
                Ok(())
            })
            .await
    }
}
