//! Several records: as many pages as it takes.

use clap::ArgMatches;
use serde_json::Value;

use crate::cli::Failure;
use crate::cli::layout::table;
use crate::cli::progress::Progress;
use crate::cli::service::action::Action;
use crate::cli::service::connection::Service;
use crate::cli::service::options::{ALL, COLUMNS, JSON, LIMIT};
use crate::cli::service::request::Request;
use crate::kernel::terminal::{complain, say};

/// The longest page that the API has.
const PAGE: u64 = 100;

/// Prints the records: as JSON one by one as they come, or as one table.
pub(super) async fn run(service: &Service, action: &Action, request: Request, matches: &ArgMatches) -> Result<(), Failure> {
    let (json, all) = (matches.get_flag(JSON), matches.get_flag(ALL));
    let limit = matches.get_one::<u64>(LIMIT).filter(|_| !all).copied().unwrap_or(u64::MAX);
    let progress = Progress::counting("reading");
    let (mut records, mut count, mut after) = (Vec::new(), 0, None::<String>);
    loop {
        let page = request.page(PAGE.min(limit - count), after.as_deref());
        let mut answer = service.answer(page.to(service)).await?;
        let Value::Array(page) = answer[action.plural().as_str()].take() else {
            return Err("the service did not answer with a list".into());
        };
        count += u64::try_from(page.len())?;
        progress.at(count);
        after = answer["meta"]["next"].as_str().map(str::to_owned);
        match json {
            true => progress.suspend(|| page.iter().for_each(|record| say(&record.to_string()))),
            false => records.extend(page),
        }
        if after.is_none() || count >= limit {
            break;
        }
    }
    progress.end();
    if records.is_empty() && !json {
        complain("There are none.");
    } else if !json {
        let columns: Vec<_> = matches.get_many::<String>(COLUMNS).into_iter().flatten().cloned().collect();
        say(&table(&columns, &records));
    }
    if after.is_some() {
        complain(&format!("These are {count}, and there are more: --limit shows so many, --all shows all."));
    }
    Ok(())
}
