//! What a group of texts is judged by: what is known of its stores, and what the rules make of it.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::storefront::challenges;
use crate::storefront::sms_guard::asked_text::AskedText;
use crate::storefront::sms_guard::judging::queries;
use crate::storefront::sms_guard::learnt::Learnt;
use crate::storefront::sms_guard::pauses;
use crate::storefront::sms_guard::refusal::TextRefusal;
use crate::storefront::sms_guard::rules::{self, DeploymentLimits, Seen, Strictness};
use crate::storefront::sms_guard::scope::Scope;
use crate::storefront::sms_guard::tally::{self, Place, Sent, Tally};
use crate::storefront::sms_guard::whole_store::WholeStore;
use crate::storefront::stores::{self, TextLimits};

/// Why a text is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    ByTheRules,
    /// A rule that would refuse it was lifted.
    ByChallenge,
}

/// What a group knows of its stores.
pub(super) struct Known {
    deployment: DeploymentLimits,
    limits: HashMap<StoreId, TextLimits>,
    tallies: HashMap<Place, Tally>,
    pub(super) pauses: HashMap<(StoreId, Scope), Learnt>,
    /// What the group has counted as sent.
    pub(super) sent: Sent,
}

impl Known {
    pub(super) async fn read(
        conn: &mut Connection,
        deployment: DeploymentLimits,
        stores: &[Uuid],
        asked: &[&AskedText],
        now: DateTime<Utc>,
    ) -> Result<Self, sqlx::Error> {
        let limits = stores::list_text_limits(conn, stores).await?;
        let scopes: BTreeSet<_> = asked
            .iter()
            .flat_map(|asked| Scope::of(&asked.recipient.number).map(|scope| (asked.store.uuid(), scope.kind(), scope.name().to_owned())))
            .collect();
        let pauses = pauses::list_learnt(conn, scopes).await?;
        let tallies = tally::read(conn, stores, now).await?;
        Ok(Self { deployment, limits, tallies, pauses, sent: Sent::default() })
    }

    /// The texts of the last day that concern each of these.
    pub(super) async fn look_back(&self, conn: &mut Connection, texts: &[&AskedText]) -> Result<Vec<Seen>, sqlx::Error> {
        let since_pause = |asked: &AskedText| {
            let range = Scope::Range(asked.recipient.number.range().to_owned());
            self.pauses.get(&(asked.store, range)).map_or(DateTime::UNIX_EPOCH, |learnt| learnt.until)
        };
        let looking: Vec<_> = texts.iter().map(|asked| (*asked, since_pause(asked))).collect();
        if looking.is_empty() { Ok(Vec::new()) } else { queries::look_back(conn, &looking, self.deployment.unreachable_for).await }
    }

    /// Judges a text by the texts that concern it.
    pub(super) async fn judge(
        &self,
        conn: &mut Connection,
        seen: Seen,
        asked: &AskedText,
    ) -> Result<Result<Allowed, TextRefusal>, sqlx::Error> {
        let limits = self.limits.get(&asked.store).ok_or(sqlx::Error::RowNotFound)?;
        let scopes = Scope::of(&asked.recipient.number).into_iter();
        let countries = self.tallies.iter().filter(|((store, _), _)| *store == asked.store);
        let seen = Seen {
            store: WholeStore::of(countries.map(|(_, tally)| tally), limits.used_codes_percent),
            country: self.tallies.get(&country_of(asked)).cloned().unwrap_or_default(),
            pauses: scopes.filter_map(|scope| Some((scope.clone(), self.pauses.get(&(asked.store, scope))?.clone()))).collect(),
            has_no_provider: !asked.has_provider,
            ..seen
        };
        judge(conn, (limits, self.deployment), &seen, asked).await
    }

    /// Counts a text as sent.
    pub(super) fn count(&mut self, asked: &AskedText, to_new_number: bool) {
        let (place, to_another_stranger) = (country_of(asked), asked.is_to_stranger() && to_new_number);
        self.sent.add(&place, to_another_stranger, asked.at);
        self.tallies.entry(place).or_default().add(to_another_stranger, asked.at);
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
