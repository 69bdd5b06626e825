//! Checks of the database: connection, migrations, roles, clock, pooler, standby, and declared extensions.

use chrono::{DateTime, TimeDelta, Utc};

use crate::app;
use crate::cli::doctor::Finding::{self, Bad, Good, Note};
use crate::config::Config;
use crate::declared::Declared;
use crate::kernel::clock::Clock;
use crate::kernel::database::{Comparison, Pool, Replica, is_forbidden, pooler_leads_there, server_version};
use crate::kernel::error_chain::chain;
use crate::kernel::migrations;
use crate::kernel::migrations::rights::{self, Amiss, Power};

/// The tolerated difference between the clocks of the service and the database.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(5);

/// How many rights are listed that are missing or too many.
const SHOWN_RIGHTS: usize = 5;

pub(super) async fn look(pool: &Pool) -> Vec<(&'static str, Finding)> {
    // By way of the pooler nothing would say which of the two is at fault.
    let direct = pool.direct();
    let version = match server_version(direct).await {
        Ok(version) => Good(format!("PostgreSQL {version} answers")),
        Err(error) if is_forbidden(&error) && pool.guest().is_some() => {
            return vec![("roles", Bad(format!("{} may not connect to the database: run portico migrate", pool.servers().role())))];
        }
        Err(error) => return vec![("database", Bad(format!("cannot be reached: {}", chain(&error))))],
    };
    let mut findings =
        vec![("database", version), ("migrations", migrations(direct).await), ("roles", roles(pool).await), ("clock", clock(direct).await)];
    findings.extend(pooler(pool).await.map(|finding| ("pooler", finding)));
    if let Some(replica) = pool.replica() {
        findings.push(("standby", standby(replica).await));
    }
    findings
}

/// Whether the pooler leads to the same database, if there is one.
async fn pooler(pool: &Pool) -> Option<Finding> {
    Some(match pooler_leads_there(pool).await {
        Err(error) => Bad(chain(&error)),
        Ok(leads_there) if leads_there? => Good("leads to the database".to_owned()),
        Ok(_) => Bad("database.pooler_url leads to another schema or database than database.url, or with another role".to_owned()),
    })
}

/// Whether lists can be read from the standby.
async fn standby(replica: &Replica) -> Finding {
    match replica.compare().await {
        Err(error) => Bad(format!("cannot be asked, so lists are read from the primary: {}", chain(&error))),
        Ok(Comparison::NoStandby) => Bad("is none, so lists are read from the primary: see database.replica_url".to_owned()),
        Ok(Comparison::OtherTimeline) => {
            Note("follows another timeline than the primary, or has not noted yet that it follows this one: until then lists are read from the primary".to_owned())
        }
        Ok(Comparison::Behind { bytes }) => Good(format!("answers, and is {bytes} bytes behind")),
    }
}

/// Whether the role of the service may do what it has to and, if another one owns the tables, nothing else.
async fn roles(pool: &Pool) -> Finding {
    let role = pool.servers().role();
    let looked = async {
        let power = rights::find_power(pool.direct(), role).await?;
        let amiss = if pool.guest().is_some() { rights::list_amiss(pool.direct(), role).await? } else { Vec::new() };
        // Whether the owner can connect.
        Ok::<_, sqlx::Error>((power, amiss, server_version(pool.owner()).await?))
    };
    match looked.await {
        Err(error) => Bad(chain(&error)),
        Ok((None, ..)) => Note("there are no tables yet".to_owned()),
        Ok((Some(power), amiss, _)) => judge_roles(role, pool.guest().map(|_| pool.owner().servers().role()), power, &amiss),
    }
}

fn judge_roles(role: &str, owner: Option<&str>, power: Power, amiss: &[Amiss]) -> Finding {
    let listed = |needed| amiss.iter().filter(|amiss| amiss.needed == needed).map(ToString::to_string).collect::<Vec<_>>();
    let (lacking, excessive) = (listed(true), listed(false));
    match owner {
        None if power.acts_as_owner => {
            Good(format!("{role} owns the tables; database.owner_url can name an owner, so that {role} needs less"))
        }
        None => Note(format!("{role} does not own the tables, so this instance adds and drops no partitions: see database.owner_url")),
        Some(owner) if power.acts_as_owner => {
            Bad(format!("{role} may do what only {owner} should: it owns the tables, acts as their owner, or is a superuser"))
        }
        Some(_) if power.has_attributes => {
            Bad(format!("{role} can do more than it needs: take createdb, createrole, replication and bypassrls from it"))
        }
        Some(_) if !lacking.is_empty() => Bad(format!("{role} lacks {}: run portico migrate", shortened(&lacking))),
        Some(_) if !excessive.is_empty() => Bad(format!("{role} can do more than it needs: {}", shortened(&excessive))),
        Some(owner) => Good(format!("{role} reads and writes, and {owner} owns the tables")),
    }
}

/// The first of them, and how many there are besides.
fn shortened(rights: &[String]) -> String {
    let shown = rights[..rights.len().min(SHOWN_RIGHTS)].join(", ");
    match rights.len().saturating_sub(SHOWN_RIGHTS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

async fn migrations(pool: &Pool) -> Finding {
    match migrations::must_be_applied(pool).await {
        Ok(()) => Good("all migrations are applied".to_owned()),
        Err(error) => Bad(chain(&error)),
    }
}

async fn clock(pool: &Pool) -> Finding {
    match sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(pool).await {
        Ok(theirs) => compare(theirs, Clock::System.now()),
        Err(error) => Bad(chain(&error)),
    }
}

/// Whether the files of declared extensions are valid and match the stored records.
pub(super) async fn extensions(config: &Config, pool: &Pool) -> Finding {
    let declared = match app::declarations(&config.extensions) {
        Err(error) => return Bad(chain(&error)),
        Ok(declarations) => Declared::new(pool.clone(), pool.clock(), declarations, &config.extensions.retired),
    };
    match declared.look().await {
        Err(error) => Bad(chain(&error)),
        Ok(kinds) if kinds.is_empty() => Note("none are declared (extensions.directory)".to_owned()),
        Ok(kinds) => Good(format!("files declare {}", kinds.join(", "))),
    }
}

fn compare(theirs: DateTime<Utc>, ours: DateTime<Utc>) -> Finding {
    let difference = ours - theirs;
    match difference.abs() <= CLOCK_TOLERANCE {
        true => Good("agrees with the database's".to_owned()),
        false => Bad(format!("differs from the database's by {} seconds", difference.num_seconds())),
    }
}
