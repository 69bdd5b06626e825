//! Recording: what came of a batch of attempts, written down in one round trip.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::ids::AttemptId;
use crate::webhooks::delivery::{self, Next, State, Verdict};
use crate::webhooks::headers::as_json;
use crate::webhooks::outcome::Fault;
use crate::webhooks::sending::Attempt;
use crate::webhooks::{Webhooks, queries};

impl Webhooks {
    /// Logs `attempts` and moves their deliveries on; an attempt whose lease was lost meanwhile changes nothing. A subscription whose
    /// endpoint answered 410 is disabled, unless it answered a replay.
    pub async fn record(&self, attempts: &[Attempt]) -> Result<(), sqlx::Error> {
        let now = self.clock.now();
        let (mut columns, mut gone) = (Columns::default(), BTreeMap::new());
        columns.subscriptions = attempts.iter().map(|attempt| attempt.subscription.uuid()).collect::<BTreeSet<_>>().into_iter().collect();
        for attempt in attempts {
            let verdict = attempt.outcome.verdict(attempt.ended_at);
            columns.push(attempt, verdict);
            if verdict == Verdict::Gone && !attempt.is_replay {
                gone.insert(attempt.subscription, (attempt.company, attempt.endpoint.url.clone()));
            }
        }
        let circuit = &self.settings.circuit;
        let mut conn = self.mover.acquire().await?;
        let recorded = queries::record_attempts(&mut conn, &columns, circuit.opens_after(), circuit.cool_down(), now).await?;
        conn.keep();
        if recorded < attempts.len() as u64 {
            tracing::warn!(lost = attempts.len() as u64 - recorded, "leases ran out before their attempts ended");
        }
        for (subscription, (company, url)) in gone {
            // Not in the same transaction, and the refusal (it was logged, or the webhook deleted) not ours to mend: the next delivery
            // is answered 410 again.
            if self.disable_gone(company, subscription, &url).await.is_ok() {
                tracing::info!(%subscription, "a webhook was disabled: its endpoint answered 410");
            }
        }
        Ok(())
    }
}

/// A batch of attempts and of what comes after them, by column, as one statement takes it.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) ids: Vec<Uuid>,
    pub(super) deliveries: Vec<Uuid>,
    pub(super) numbers: Vec<i16>,
    pub(super) started_at: Vec<DateTime<Utc>>,
    pub(super) ended_at: Vec<DateTime<Utc>>,
    pub(super) durations_ms: Vec<i32>,
    pub(super) statuses: Vec<Option<i16>>,
    pub(super) faults: Vec<Option<&'static str>>,
    pub(super) request_headers: Vec<String>,
    pub(super) response_headers: Vec<Option<String>>,
    pub(super) response_bodies: Vec<Option<Vec<u8>>>,
    pub(super) states: Vec<&'static str>,
    pub(super) due_at: Vec<Option<DateTime<Utc>>>,
    /// Whose they are, each once.
    pub(super) subscriptions: Vec<Uuid>,
}

impl Columns {
    fn push(&mut self, attempt: &Attempt, verdict: Verdict) {
        let (state, due_at) = match delivery::next(attempt.failures, verdict, attempt.ended_at) {
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
        self.statuses.push(answer.map(|answer| answer.status.as_u16().cast_signed()));
        self.faults.push(attempt.outcome.fault.map(Fault::as_str));
        self.request_headers.push(attempt.request_headers.clone());
        self.response_headers.push(answer.map(|answer| as_json(&answer.headers)));
        self.response_bodies.push(answer.map(|answer| answer.body.clone()));
        self.states.push(state.as_str());
        self.due_at.push(due_at);
    }
}
