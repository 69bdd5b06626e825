//! `portico token revoke`: signs customers out.

use clap::{Args, Subcommand};

use crate::cli::{Failure, say};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::set_up::SetUp;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Revoke tokens: the customer has to sign in again
    Revoke(RevokeTarget),
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct RevokeTarget {
    /// One session, by the id shown by storefront/int/v1/tokens
    #[arg(long)]
    session: Option<SessionId>,
    /// Every sign-in of a customer, by the customer's id (customer_…) or UUID
    #[arg(long)]
    customer: Option<CustomerId>,
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
                match revoked.ok_or("there is no such sign-in or customer")? {
                    1 => say("1 sign-in ended."),
                    revoked => say(&format!("{revoked} sign-ins ended.")),
                }
                Ok(())
            })
            .await
    }
}
