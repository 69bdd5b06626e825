//! Judging texts: those that are asked for at the same moment share one transaction.
//!
//! A group locks the row of each of its stores in `text_guards`, so no two groups judge texts of one store at the same time, not even on
//! several instances: parallel requests cannot pass a limit together. Nothing else is locked for long: the store itself is only read, and
//! providers are asked after the commit. What the day has brought is read once for the group, from sums by the minute ([`tally`]).
//!
//! Texts to one number by several stores at the same moment are not counted together: `storefront.daily_texts_per_number` can be exceeded
//! by one text for each further store that texts the number in that moment.

mod queries;

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::{Connection, Pool, group_pool};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::{StoreId, TextId};
use crate::kernel::lifecycle::Lifecycle;
use crate::storefront::challenges;
use crate::storefront::sms_guard::asked_text::AskedText;
use crate::storefront::sms_guard::learnt::Learnt;
use crate::storefront::sms_guard::refusal::TextRefusal;
use crate::storefront::sms_guard::rules::{self, DeploymentLimits, Seen, Strictness};
use crate::storefront::sms_guard::scope::Scope;
use crate::storefront::sms_guard::tally::{self, Place, Sent, Tally};
use crate::storefront::sms_guard::whole_store::WholeStore;
use crate::storefront::sms_guard::{log, pauses};
use crate::storefront::stores::{self, TextLimits};

/// Texts per group: enough to be cheap, few enough that nobody waits for long.
const MAX_GROUP: usize = 64;

/// Counts a text as sent, or says why not.
pub type Judging = GroupCommit<Arc<AskedText>, Result<TextId, TextRefusal>>;

/// Creates the group commit for texts, with a connection for each of two groups at a time. A store is only in one of them.
pub fn judging(pool: &Pool, deployment: DeploymentLimits, lifecycle: &Lifecycle) -> Judging {
    let pool = group_pool(pool, "texts", 2);
    let turn = |asked: &Arc<AskedText>| {
        let mut hasher = DefaultHasher::new();
        asked.store.uuid().hash(&mut hasher);
        hasher.finish()
    };
    GroupCommit::two_at_a_time(lifecycle.clone(), MAX_GROUP, turn, move |asked| {
        let pool = pool.clone();
        async move {
            let mut tx = pool.begin().await?;
            let verdicts = judge_group(&mut tx, deployment, &asked).await?;
            tx.commit().await?;
            Ok(verdicts)
        }
    })
}

/// What became of one text.
struct Judged {
    verdict: Result<Allowed, TextRefusal>,
    /// Whether the store has not texted the number within the last day.
    is_new_number: bool,
}

/// Why a text is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    ByTheRules,
    /// A rule that would refuse it was lifted.
    ByChallenge,
}

/// What a group knows of its stores.
struct Known {
    limits: HashMap<StoreId, TextLimits>,
    tallies: HashMap<Place, Tally>,
    pauses: HashMap<(StoreId, Scope), Learnt>,
}

async fn judge_group(
    conn: &mut Connection,
    deployment: DeploymentLimits,
    asked: &[Arc<AskedText>],
) -> Result<Vec<Result<TextId, TextRefusal>>, sqlx::Error> {
    let Some(now) = asked.iter().map(|asked| asked.at).max() else { return Ok(Vec::new()) };
    let stores: BTreeSet<_> = asked.iter().map(|asked| asked.store.uuid()).collect();
    let stores: Vec<_> = stores.into_iter().collect();
    queries::lock_stores(conn, &stores, now).await?;
    tally::take_over(conn, &stores).await?;
    let mut known = Known::read(conn, &stores, asked, now).await?;
    let (mut verdicts, mut sent) = (Vec::with_capacity(asked.len()), Sent::default());
    for asked in asked {
        let Judged { verdict, is_new_number } = known.judge(conn, deployment, asked).await?;
        verdicts.push(match verdict {
            Ok(allowed) => {
                let id = log::insert_sent(conn, asked, is_new_number, allowed == Allowed::ByChallenge).await?;
                let (place, to_another_stranger) = (country_of(asked), asked.is_to_stranger() && is_new_number);
                sent.add(&place, to_another_stranger, asked.at);
                known.tallies.entry(place).or_default().add(to_another_stranger, asked.at);
                Ok(id)
            }
            Err(refusal) => {
                if let Some(new) = refusal.new_pause() {
                    pauses::begin(conn, asked.store, asked.company, new).await?;
                    known.pauses.insert((asked.store, new.pause.scope.clone()), new.into());
                }
                // Whoever has sent a token comes back as soon as it is verified. One that does not count is logged then.
                if !(refusal.asks_for_challenge() && asked.challenge == challenges::Standing::Answered) {
                    let who = (Some(&asked.recipient), asked.network);
                    log::insert_refused(conn, (asked.store, asked.company), who, &refusal, asked.at).await?;
                }
                Err(refusal)
            }
        });
    }
    sent.write(conn).await?;
    Ok(verdicts)
}

impl Known {
    async fn read(conn: &mut Connection, stores: &[Uuid], asked: &[Arc<AskedText>], now: DateTime<Utc>) -> Result<Self, sqlx::Error> {
        let limits = stores::list_text_limits(conn, stores).await?;
        let scopes: BTreeSet<_> = asked
            .iter()
            .flat_map(|asked| Scope::of(&asked.recipient.number).map(|scope| (asked.store.uuid(), scope.kind(), scope.name().to_owned())))
            .collect();
        let pauses = pauses::list_learnt(conn, scopes).await?;
        let tallies = tally::read(conn, stores, now).await?;
        Ok(Self { limits, tallies, pauses })
    }

    async fn judge(&self, conn: &mut Connection, deployment: DeploymentLimits, asked: &AskedText) -> Result<Judged, sqlx::Error> {
        let limits = self.limits.get(&asked.store).ok_or(sqlx::Error::RowNotFound)?;
        let scopes = Scope::of(&asked.recipient.number);
        let pauses: HashMap<_, _> =
            scopes.into_iter().filter_map(|scope| Some((scope.clone(), self.pauses.get(&(asked.store, scope))?.clone()))).collect();
        let mut seen = queries::look_back(conn, asked, &pauses, deployment.unreachable_for).await?;
        let countries = self.tallies.iter().filter(|((store, _), _)| *store == asked.store);
        seen.store = WholeStore::of(countries.map(|(_, tally)| tally), limits.used_codes_percent);
        seen.country = self.tallies.get(&country_of(asked)).cloned().unwrap_or_default();
        seen.pauses = pauses;
        seen.has_no_provider = !asked.has_provider;
        let verdict = judge(conn, (limits, deployment), &seen, asked).await?;
        Ok(Judged { verdict, is_new_number: seen.to_number.is_empty() })
    }
}

/// Judges a text by the rules, and by a challenge where one makes a difference: where something is suspected, nothing else refuses the text, and
/// solved challenges have not let through as many texts as they may.
async fn judge(
    conn: &mut Connection,
    (limits, deployment): (&TextLimits, DeploymentLimits),
    seen: &Seen,
    asked: &AskedText,
) -> Result<Result<Allowed, TextRefusal>, sqlx::Error> {
    let by = |strictness| rules::judge((limits, strictness), deployment, seen, &asked.recipient, asked.at);
    let usual = by(Strictness::Usual);
    let allowed = if usual.is_ok() { Allowed::ByTheRules } else { Allowed::ByChallenge };
    let by_the_rules = usual.map(|()| Allowed::ByTheRules);
    if !asked.may_be_challenged() {
        return Ok(by_the_rules);
    }
    let (Err(doubt), Ok(())) = (by(Strictness::Early), by(Strictness::Lifted)) else { return Ok(by_the_rules) };
    let (sent, used) = queries::count_by_challenge(conn, asked.store, asked.at).await?;
    if sent - used >= rules::allowed_by_challenge(limits, used) {
        return Ok(by_the_rules);
    }
    Ok(match asked.challenge {
        challenges::Standing::Solved => Ok(allowed),
        _ => Err(TextRefusal::Challenged(Box::new(doubt))),
    })
}

fn country_of(asked: &AskedText) -> Place {
    (asked.store, asked.recipient.number.country().unwrap_or_default())
}
