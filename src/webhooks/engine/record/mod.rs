//! Recording: writes the results of a batch of attempts and refills their endpoints, in one round trip.
//!
//! Almost all attempts are acknowledged, and few endpoints have a backlog. A batch in which nothing else is to be done has a statement of its own,
//! which takes PostgreSQL less than half the time. Each statement is a file beside this one, with named steps.
//!
//! | statement | records |
//! |---|---|
//! | `record_acknowledged.sql` | attempts that were acknowledged in whole answers, none of them a replay, when no endpoint is refilled |
//! | `record_attempts.sql` | everything else, those beside it in the batch included |
//!
//! A delivery in order is no exception: a trigger lets the next one of its chain go on, whichever statement takes it out of flight. Nor is an
//! endpoint that has asked for silence in an earlier answer.

mod queries;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::ids::{AttemptId, CompanyId, SubscriptionId};
use crate::webhooks::delivery_state::{self, MAX_SILENCE, Next, State, Verdict};
use crate::webhooks::endpoint::as_json;
use crate::webhooks::engine::record::queries::Limits;
use crate::webhooks::engine::refill::Refill;
use crate::webhooks::latency;
use crate::webhooks::sending::Attempt;
use crate::webhooks::sending::fault::Fault;
use crate::webhooks::targets::EndpointUrl;
use crate::webhooks::tracks::Track;
use crate::webhooks::{Claimed, Webhooks};

impl Webhooks {
    /// Logs `attempts` and moves their deliveries to the next state. An attempt whose lease was lost changes nothing. Disabling the
    /// endpoints that responded with 410 is left to the caller, so that recording waits for nothing else. `refill` is called just
    /// before the statement, which runs on the connection of `track`.
    pub(crate) async fn record_batch(
        &self,
        track: Track,
        attempts: &[Attempt],
        refill: impl FnOnce() -> Refill,
    ) -> Result<Recorded, sqlx::Error> {
        let now = self.clock.now();
        let (mut columns, mut states, mut gone) = (Columns::default(), Vec::with_capacity(attempts.len()), BTreeMap::new());
        columns.subscriptions = attempts.iter().map(|attempt| attempt.subscription.uuid()).collect::<BTreeSet<_>>().into_iter().collect();
        let mut all_usual = true;
        for attempt in attempts {
            let verdict = attempt.outcome.verdict(attempt.ended_at);
            states.push(columns.push(attempt, verdict));
            all_usual &= is_usual(verdict, attempt.outcome.fault, attempt.is_replay);
            if verdict == Verdict::Gone && !attempt.is_replay {
                let (company, subscription, url) = (attempt.company, attempt.subscription, attempt.endpoint.url.clone());
                gone.insert(subscription, Gone { company, subscription, url });
            }
        }
        let circuit = &self.settings.circuit;
        let limits = Limits { opens_after: circuit.opens_after(), cool_down: circuit.cool_down(), silence: MAX_SILENCE };
        let mut conn = self.delivery_pools.of(track).acquire().await?;
        let refill = refill();
        let (recorded, taken) = if all_usual && refill.is_empty() {
            (queries::record_acknowledged(&mut conn, &columns, limits, now).await?, Vec::new())
        } else {
            queries::record_attempts(&mut conn, &columns, &refill, limits, self.worker, now).await?
        };
        let claimed_until = taken.iter().map(|(due_at, taken)| (taken.subscription, *due_at)).collect();
        let traced = self.traces_of(&mut conn, taken.iter().map(|(_, taken)| taken.event)).await;
        let claimed = self.complete(&mut conn, taken.into_iter().map(|(_, taken)| taken).collect(), &traced).await?;
        for (attempt, state) in attempts.iter().zip(states) {
            self.metrics.recorded(attempt, state);
        }
        if recorded < attempts.len() as u64 {
            tracing::warn!(lost = attempts.len() as u64 - recorded, "leases expired before their attempts ended");
        }
        Ok(Recorded { gone: gone.into_values().collect(), claimed, claimed_until })
    }
}

/// Whether an attempt went as almost all do: it was acknowledged in a whole answer, and it is no replay. Others need a retry, a word in the log about
/// what went wrong, or an endpoint whose health they leave alone.
fn is_usual(verdict: Verdict, fault: Option<Fault>, is_replay: bool) -> bool {
    verdict == Verdict::Acknowledged && fault.is_none() && !is_replay
}

#[derive(Debug, Default)]
pub struct Recorded {
    pub gone: Vec<Gone>,
    /// The deliveries that were claimed in place of those that ended.
    pub claimed: Vec<Claimed>,
    /// Their endpoints, and when they were due.
    pub claimed_until: Vec<(SubscriptionId, DateTime<Utc>)>,
}

/// An endpoint that responded with 410 to an attempt that was not a replay.
#[derive(Debug)]
pub struct Gone {
    pub company: CompanyId,
    pub subscription: SubscriptionId,
    /// The URL that responded.
    pub url: EndpointUrl,
}

/// A batch of attempts and their next states, by column, as one statement takes them.
#[derive(Debug, Default)]
pub struct Columns {
    pub ids: Vec<Uuid>,
    pub deliveries: Vec<Uuid>,
    pub numbers: Vec<i16>,
    pub started_at: Vec<DateTime<Utc>>,
    pub ended_at: Vec<DateTime<Utc>>,
    pub durations_ms: Vec<i32>,
    pub statuses: Vec<Option<i16>>,
    pub faults: Vec<Option<&'static str>>,
    /// What says more than the words of the faults.
    pub reasons: Vec<Option<&'static str>>,
    /// How often the requests were sent again.
    pub resends: Vec<i16>,
    pub request_headers: Vec<String>,
    pub response_headers: Vec<Option<String>>,
    pub response_bodies: Vec<Option<Vec<u8>>>,
    pub states: Vec<&'static str>,
    pub due_at: Vec<Option<DateTime<Utc>>>,
    /// Where the durations are in the histogram.
    pub buckets: Vec<i16>,
    /// The ends of the certificates that the endpoints presented.
    pub certificates: Vec<Option<DateTime<Utc>>>,
    /// Until when the endpoints want to be left alone.
    pub asks_for_silence_until: Vec<Option<DateTime<Utc>>>,
    /// The subscriptions of the attempts, without duplicates.
    pub subscriptions: Vec<Uuid>,
}

impl Columns {
    /// Adds an attempt, and returns the state that follows from it.
    fn push(&mut self, attempt: &Attempt, verdict: Verdict) -> State {
        let (state, due_at) = match delivery_state::next(attempt.failures, verdict, attempt.ended_at) {
            Next::Delivered => (State::Delivered, None),
            Next::Retry(at) => (State::Retrying, Some(at)),
            Next::Failed => (State::Failed, None),
        };
        let answer = attempt.outcome.answer.as_ref();
        self.ids.push(AttemptId::new(attempt.started_at).uuid());
        self.deliveries.push(attempt.delivery.uuid());
        self.numbers.push(attempt.number);
        self.started_at.push(attempt.started_at);
        self.ended_at.push(attempt.ended_at);
        self.durations_ms.push(attempt.took.as_millis().try_into().unwrap_or(i32::MAX));
        self.buckets.push(latency::bucket_of(attempt.took));
        self.certificates.push(attempt.outcome.certificate_expires_at);
        self.asks_for_silence_until.push(delivery_state::silent_until(verdict, attempt.ended_at));
        self.statuses.push(answer.map(|answer| answer.status.as_u16().cast_signed()));
        self.faults.push(attempt.outcome.fault.map(Fault::as_str));
        self.reasons.push(attempt.outcome.fault.and_then(Fault::reason));
        self.resends.push(attempt.outcome.resends);
        self.request_headers.push(attempt.request_headers.clone());
        self.response_headers.push(answer.map(|answer| as_json(&answer.headers)));
        self.response_bodies.push(answer.map(|answer| answer.body.clone()));
        self.states.push(state.as_str());
        self.due_at.push(due_at);
        state
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn only_what_was_acknowledged_in_a_whole_answer_and_is_no_replay_is_usual() {
        assert!(is_usual(Verdict::Acknowledged, None, false));
        let failed = |wait| Verdict::Failed { retry_after: wait };
        for (verdict, fault, is_replay) in [
            (Verdict::Acknowledged, None, true),
            (Verdict::Acknowledged, Some(Fault::Closed), false),
            (Verdict::Acknowledged, Some(Fault::TooSlow), false),
            (Verdict::Acknowledged, Some(Fault::BadHeaders), false),
            (Verdict::Gone, None, false),
            (failed(None), None, false),
            (failed(None), Some(Fault::Timeout), false),
            (failed(Some(TimeDelta::minutes(10))), None, false),
        ] {
            assert!(!is_usual(verdict, fault, is_replay), "{verdict:?} {fault:?} {is_replay}");
        }
    }
}
