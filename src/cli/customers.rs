//! `portico customer export` and `portico token revoke`: operations on one customer.

use clap::{Args, Subcommand};

use crate::cli::{Failure, say};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::set_up::SetUp;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum CustomerCommand {
    /// Print all stored data of a customer, as JSON
    Export {
        /// Id (customer_…) or UUID of the customer
        customer: CustomerId,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// End sessions: the customer must sign in again
    Revoke(RevokeTarget),
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct RevokeTarget {
    /// One session, by the id shown by storefront/int/v1/tokens
    #[arg(long)]
    session: Option<SessionId>,
    /// All sessions of a customer
    #[arg(long)]
    customer: Option<CustomerId>,
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
