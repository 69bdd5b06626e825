//! `portico operator create`, `operator list`, `operator reset` and `operator remove`: the people who are mailed when a webhook fails, and who sign in to the
//! console.

use clap::Subcommand;
use serde_json::json;

use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::exit::{NotAccepted, NotFound};
use crate::cli::record;
use crate::cli::secret_input::read_secret;
use crate::config::Config;
use crate::contact::EmailAddress;
use crate::kernel::clock::Clock;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::password_hashing::PasswordHashing;
use crate::operators::{self, OperatorPassword, Role};

#[derive(Debug, Subcommand)]
pub(super) enum OperatorCommand {
    /// Create an operator of a company; the password is read from standard input
    Create {
        /// The operator's email address
        email: EmailAddress,
        /// The company, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// What the operator may do: owner, developer, support, viewer
        #[arg(long, default_value = "owner")]
        role: Role,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the operators of a company
    List {
        /// The company, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give an operator another password, read from standard input; ends their sessions and removes their second factor
    Reset {
        /// The operator's email address
        email: EmailAddress,
        /// The company, if operators of several have the address
        #[arg(long)]
        company: Option<CompanyId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove an operator
    Remove {
        /// The operator's email address
        email: EmailAddress,
        /// The company, if operators of several have the address
        #[arg(long)]
        company: Option<CompanyId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl OperatorCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Create { email, company, role, json } => {
                let password = OperatorPassword::parse(&read_secret("The operator's password")?).map_err(NotAccepted::of)?;
                record::print_one(config, json, async |pool| {
                    let (conn, caller) = (&mut pool.acquire().await?, Caller::command_line(company));
                    let now = Clock::System.now();
                    let id = operators::create_operator(conn, &PasswordHashing::start(), &caller, &email, password, role, now).await?;
                    Ok(json!({ "operator": { "id": id, "company": company, "email": email.to_string(), "role": role } }))
                })
                .await
            }
            Self::List { company, json } => {
                record::print_list(config, json, "operators", async |pool| {
                    let operators = operators::list_operators(&mut pool.acquire().await?, company).await?;
                    Ok(operators.iter().map(|operator| json!(operator)).collect())
                })
                .await
            }
            Self::Reset { email, company, json } => {
                let password = OperatorPassword::parse(&read_secret("The operator's new password")?).map_err(NotAccepted::of)?;
                record::print_one(config, json, async |pool| {
                    let conn = &mut pool.acquire().await?;
                    let (caller, now) = (Caller::command_line(company_of(conn, &email, company).await?), Clock::System.now());
                    let reset = operators::reset_operator(conn, &PasswordHashing::start(), &caller, &email, password, now).await?;
                    let id = reset.ok_or_else(|| unknown(&email))?;
                    Ok(json!({ "operator": { "id": id, "company": caller.company, "email": email.to_string(), "reset": true } }))
                })
                .await
            }
            Self::Remove { email, company, json } => {
                record::print_one(config, json, async |pool| {
                    let conn = &mut pool.acquire().await?;
                    let caller = Caller::command_line(company_of(conn, &email, company).await?);
                    let removed = operators::remove_operator(conn, &caller, &email, Clock::System.now()).await?;
                    let id = removed.ok_or_else(|| unknown(&email))?;
                    Ok(json!({ "operator": { "id": id, "company": caller.company, "email": email.to_string(), "removed": true } }))
                })
                .await
            }
        }
    }
}

fn unknown(email: &EmailAddress) -> NotFound {
    NotFound(format!("there is no operator {email}"))
}

/// The company of the operator with this address: the one that was named, or the only one.
async fn company_of(conn: &mut Connection, email: &EmailAddress, named: Option<CompanyId>) -> Result<CompanyId, Failure> {
    let companies: Vec<_> = operators::list_by_email(conn, email).await?.into_iter().map(|operator| operator.company).collect();
    match (named, &companies[..]) {
        (Some(company), companies) if companies.contains(&company) => Ok(company),
        (None, [company]) => Ok(*company),
        (Some(_), _) | (None, []) => Err(unknown(email).into()),
        (None, several) => {
            let several: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(format!("operators of several companies have the address {email}: say which with --company ({})", several.join(", "))
                .into())
        }
    }
}
