//! The check of what is sealed: under which key it is, and whether the keys before it are still needed.

use crate::app;
use crate::bootstrap::application_key;
use crate::cli::doctor::Finding::{self, Bad, Good, Note};
use crate::config::Config;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::migrations;
use crate::kernel::sealed_values::{self, Census};
use crate::operators;

/// Nothing if the key or the database cannot be used, which other findings say.
pub(super) async fn look(config: &Config, pool: &Pool) -> Vec<(&'static str, Finding)> {
    let Ok(key) = application_key(config) else { return Vec::new() };
    if migrations::must_be_applied(pool).await.is_err() {
        return Vec::new();
    }
    let mut findings = match sealed_values::count(pool, &key, &app::sealed_columns()).await {
        Ok(census) => vec![("stored secrets", judge(&census, &key))],
        Err(error) => vec![("stored secrets", Bad(chain(&error)))],
    };
    if key.previous().next().is_some() {
        findings.push(("recovery codes", recovery_codes(pool, &key).await));
    }
    findings
}

fn judge(census: &Census, key: &ApplicationKey) -> Finding {
    let under = |fingerprint| census.by_key.get(&fingerprint).copied().unwrap_or_default();
    let total: u64 = census.by_key.values().chain(census.lost.values()).sum();
    if !census.lost.is_empty() {
        let lost: Vec<_> = census.lost.iter().map(|(content, count)| format!("{content} {count}")).collect();
        return Bad(format!("no key opens {} of {total}: {}", census.lost.values().sum::<u64>(), lost.join(", ")));
    }
    let mut counts = vec![format!("{} under the application key {}", under(key.fingerprint()), key.fingerprint())];
    let (needed, done): (Vec<_>, Vec<_>) = key.previous().partition(|fingerprint| under(*fingerprint) > 0);
    counts.extend(needed.iter().map(|fingerprint| format!("{} under the previous key {fingerprint}", under(*fingerprint))));
    if !needed.is_empty() {
        return Note(format!("{}: run portico keys rotate before you drop it", counts.join(", ")));
    }
    let done: Vec<_> = done.iter().map(|fingerprint| format!("none under the previous key {fingerprint}")).collect();
    Good([counts, done].concat().join(", "))
}

/// Digests cannot be made again under another key.
async fn recovery_codes(pool: &Pool, key: &ApplicationKey) -> Finding {
    let counted = async { operators::count_operators_with_other_codes(&mut pool.acquire().await?, key.fingerprint()).await };
    match counted.await {
        Err(error) => Bad(chain(&error)),
        Ok(0) => Good("none needs a previous key".to_owned()),
        Ok(1) => Note("those of 1 operator need a previous key, until they make new ones in the console".to_owned()),
        Ok(operators) => Note(format!("those of {operators} operators need a previous key, until they make new ones in the console")),
    }
}
