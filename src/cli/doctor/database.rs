//! Checks of the database: connection, migrations, clock, and declared extensions.

use chrono::{DateTime, TimeDelta, Utc};

use crate::app;
use crate::cli::doctor::Finding::{self, Bad, Good, Note};
use crate::config::Config;
use crate::declared::Declared;
use crate::kernel::clock::Clock;
use crate::kernel::database::{Pool, server_version};
use crate::kernel::error_chain::chain;
use crate::kernel::migrations;

/// The tolerated difference between the clocks of the service and the database.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(5);

pub(super) async fn look(pool: &Pool) -> Vec<(&'static str, Finding)> {
    let version = match server_version(pool).await {
        Ok(version) => Good(format!("PostgreSQL {version} answers")),
        Err(error) => return vec![("database", Bad(format!("cannot be reached: {}", chain(&error))))],
    };
    vec![("database", version), ("migrations", migrations(pool).await), ("clock", clock(pool).await)]
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
