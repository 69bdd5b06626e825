//! Where companies are, and which cell a new one gets.

use crate::bootstrap::Database;
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::companies::{self, Company};
use crate::config::Config;
use crate::kernel::database::{CellName, Connection, Pool};

/// The companies of a cell.
pub(super) async fn list_of(config: &Config) -> Result<Vec<Company>, Failure> {
    let list = async |pool: &Pool| -> Result<_, Failure> { Ok(companies::list_companies(&mut pool.acquire().await?).await?) };
    Database::new(config).await?.with_migrated(config, list).await
}

/// The company with this name or id. Names are not unique.
pub(super) async fn find_company(conn: &mut Connection, name: &str) -> Result<Company, Failure> {
    let mut found = companies::find_companies(conn, name.parse().ok(), name).await?;
    match (found.pop(), found.is_empty()) {
        (Some(company), true) => Ok(company),
        (None, _) => Err(NotFound(format!("there is no company {name}")).into()),
        (Some(_), false) => Err(format!("several companies are named {name}: say which by its id").into()),
    }
}

/// The cell with the fewest companies in relation to its weight. One without weight gets none, unless it is named; `except` gets none either.
///
/// # Errors
/// A cell cannot be asked: a company must not be put where it does not belong because of that.
pub(super) async fn of_new_company(config: &Config, except: Option<&CellName>) -> Result<Config, Failure> {
    let mut cells = config.cells();
    cells.retain(|cell| Some(&cell.database.name) != except);
    if cells.len() == 1 {
        return Ok(cells.into_iter().next().expect("there is one"));
    }
    let mut least: Option<(f64, Config)> = None;
    for config in cells.into_iter().filter(|config| config.database.weight > 0) {
        let count = async |pool: &Pool| -> Result<i64, Failure> { Ok(companies::count_companies(&mut pool.acquire().await?).await?) };
        let companies = Database::new(&config).await?.with_migrated(&config, count).await?;
        let load = (companies + 1) as f64 / f64::from(config.database.weight);
        if least.as_ref().is_none_or(|(least, _)| load < *least) {
            least = Some((load, config));
        }
    }
    least.map(|(_, cell)| cell).ok_or_else(|| "no cell takes new companies: each has weight 0 (say which with --cell)".into())
}
