//! `portico token revoke`: signs customers out.

use clap::{Args, Subcommand};

use crate::bootstrap::Database;
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::kernel::terminal::say;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Revoke tokens: the customer has to sign in again
    Revoke(RevokeTarget),
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct RevokeTarget {
    /// One session, by its id (session_…) or UUID
    #[arg(long)]
    session: Option<SessionId>,
    /// Every session of a customer, by the customer's id (customer_…) or UUID
    #[arg(long)]
    customer: Option<CustomerId>,
}

impl TokenCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Revoke(target) = self;
        let database = Database::new(config).await?;
        database
            .with_migrated(config, async |pool| {
                let (conn, now) = (&mut pool.acquire().await?, Clock::System.now());
                let revoked = match (target.session, target.customer) {
                    (Some(session), _) => match storefront::company_of_session(conn, session).await? {
                        Some(company) => storefront::end_session_of_company(conn, company, session, now).await?.map(|_| 1),
                        None => None,
                    },
                    (None, Some(customer)) => match storefront::company_of_customer(conn, customer).await? {
                        Some(company) => storefront::end_all_of_company(conn, company, customer, now).await?,
                        None => None,
                    },
                    (None, None) => unreachable!("the command line requires a session or a customer"),
                };
                match revoked.ok_or_else(|| NotFound("there is no such session or customer".to_owned()))? {
                    1 => say("1 session ended."),
                    revoked => say(&format!("{revoked} sessions ended.")),
                }
                Ok(())
            })
            .await
    }
}
