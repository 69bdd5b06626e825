//! Judging texts: those that are asked for at the same moment share one transaction, which also stores their [`codes`].
//!
//! A group locks the row of each of its stores in `text_guards`, so no two groups judge texts of one store at the same time, not even on
//! several instances: parallel requests cannot pass a limit together. Nothing else is locked for long: the store itself is only read, and
//! providers are asked after the commit. What the day has brought is read once for the group, from sums by the minute ([`tally`]). Texts that
//! make no difference to each other are looked at in one statement and counted in another ([`rounds`]).
//!
//! Texts to one number by several stores at the same moment are not counted together: `storefront.daily_texts_per_number` can be exceeded
//! by one text for each further store that texts the number in that moment.

mod codes;
mod known;
mod queries;
mod rounds;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::kernel::database::{Connection, Pool, column, group_pool};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::TextId;
use crate::kernel::lifecycle::Lifecycle;
use crate::storefront::challenges;
use crate::storefront::sms_guard::asked_text::AskedText;
use crate::storefront::sms_guard::judging::codes::Codes;
use crate::storefront::sms_guard::judging::known::{Allowed, Known};
use crate::storefront::sms_guard::judging::rounds::rounds;
use crate::storefront::sms_guard::log::SentText;
use crate::storefront::sms_guard::refusal::TextRefusal;
use crate::storefront::sms_guard::rules::DeploymentLimits;
use crate::storefront::sms_guard::{log, pauses, tally};

/// Texts per group: enough to be cheap, few enough that nobody waits for long.
const MAX_GROUP: usize = 64;

/// What the guard says of a text.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is counted as sent, and its code is stored.
    Sent(TextId),
    /// It is not sent, and its code is not stored.
    Refused(TextRefusal),
    /// The code that its own would replace is younger than a minute, so there is nothing to judge.
    Repeated,
}

/// Counts a text as sent, or says why not.
pub type Judging = GroupCommit<Arc<AskedText>, Verdict>;

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
            let asked: Vec<_> = asked.iter().map(|asked| &**asked).collect();
            let mut tx = pool.begin().await?;
            let verdicts = judge_group(&mut tx, deployment, &asked).await?;
            tx.commit().await?;
            Ok(verdicts)
        }
    })
}

async fn judge_group(conn: &mut Connection, deployment: DeploymentLimits, asked: &[&AskedText]) -> Result<Vec<Verdict>, sqlx::Error> {
    let Some(now) = asked.iter().map(|asked| asked.at).max() else { return Ok(Vec::new()) };
    let stores: BTreeSet<_> = asked.iter().map(|asked| asked.store.uuid()).collect();
    let stores: Vec<_> = stores.into_iter().collect();
    let mut codes = Codes::store(conn, asked).await?;
    queries::lock_stores(conn, &stores, now).await?;
    tally::take_over(conn, &stores).await?;
    let mut known = Known::read(conn, deployment, &stores, asked, now).await?;
    let mut verdicts = vec![Verdict::Repeated; asked.len()];
    for mut round in rounds(asked.iter().copied()) {
        codes.store_rest(conn, &column(&round, |place| asked[*place])).await?;
        round.retain(|place| !codes.is_repeated(asked[*place]));
        let judged = judge_round(conn, (&mut known, &codes), &column(&round, |place| asked[*place])).await?;
        round.into_iter().zip(judged).for_each(|(place, verdict)| verdicts[place] = verdict);
    }
    known.sent.write(conn).await?;
    Ok(verdicts)
}

/// Judges texts that make no difference to each other.
async fn judge_round(
    conn: &mut Connection,
    (known, codes): (&mut Known, &Codes),
    texts: &[&AskedText],
) -> Result<Vec<Verdict>, sqlx::Error> {
    let (mut sent, mut verdicts) = (Vec::new(), Vec::with_capacity(texts.len()));
    for (asked, seen) in texts.iter().copied().zip(known.look_back(conn, texts).await?) {
        let to_new_number = seen.to_number.is_empty();
        verdicts.push(match known.judge(conn, seen, asked).await? {
            Ok(allowed) => {
                known.count(asked, to_new_number);
                let text = SentText { id: TextId::new(asked.at), asked, to_new_number, by_challenge: allowed == Allowed::ByChallenge };
                let verdict = Verdict::Sent(text.id);
                sent.push(text);
                verdict
            }
            Err(refusal) => {
                codes.restore(conn, asked).await?;
                refuse(conn, known, asked, &refusal).await?;
                Verdict::Refused(refusal)
            }
        });
    }
    log::insert_sent(conn, &sent).await?;
    Ok(verdicts)
}

async fn refuse(conn: &mut Connection, known: &mut Known, asked: &AskedText, refusal: &TextRefusal) -> Result<(), sqlx::Error> {
    if let Some(new) = refusal.new_pause() {
        pauses::begin(conn, asked.store, asked.company, new).await?;
        known.pauses.insert((asked.store, new.pause.scope.clone()), new.into());
    }
    // Whoever has sent a token comes back as soon as it is verified. One that does not count is logged then.
    if refusal.asks_for_challenge() && asked.challenge == challenges::Standing::Answered {
        return Ok(());
    }
    log::insert_refused(conn, (asked.store, asked.company), (Some(&asked.recipient), asked.network), refusal, asked.at).await
}
