//! Recording: writes the results of a batch of attempts in one round trip.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::ids::{AttemptId, CompanyId, SubscriptionId};
use crate::webhooks::delivery::{self, Next, State, Verdict};
use crate::webhooks::headers::as_json;
use crate::webhooks::outcome::Fault;
use crate::webhooks::sending::Attempt;
use crate::webhooks::targets::EndpointUrl;
use crate::webhooks::{Webhooks, queries};

impl Webhooks {
    /// Logs `attempts`, moves their deliveries to the next state, and disables the subscriptions whose endpoints responded with
    /// 410.
    pub async fn record(&self, attempts: &[Attempt]) -> Result<(), sqlx::Error> {
        let gone = self.write_down(attempts).await?;
        self.disable_gone(gone).await;
        Ok(())
    }

    /// Logs `attempts` and moves their deliveries to the next state. An attempt whose lease was lost changes nothing. Returns the
    /// endpoints that responded with 410; disabling them is left to the caller, so that recording waits for nothing else.
    pub(super) async fn write_down(&self, attempts: &[Attempt]) -> Result<Vec<Gone>, sqlx::Error> {
        let now = self.clock.now();
        let (mut columns, mut gone) = (Columns::default(), BTreeMap::new());
        columns.subscriptions = attempts.iter().map(|attempt| attempt.subscription.uuid()).collect::<BTreeSet<_>>().into_iter().collect();
        for attempt in attempts {
            let verdict = attempt.outcome.verdict(attempt.ended_at);
            columns.push(attempt, verdict);
            if verdict == Verdict::Gone && !attempt.is_replay {
                let (company, subscription, url) = (attempt.company, attempt.subscription, attempt.endpoint.url.clone());
                gone.insert(subscription, Gone { company, subscription, url });
            }
        }
        let circuit = &self.settings.circuit;
        let mut conn = self.mover.acquire().await?;
        let recorded = queries::record_attempts(&mut conn, &columns, circuit.opens_after(), circuit.cool_down(), now).await?;
        conn.keep();
        if recorded < attempts.len() as u64 {
            tracing::warn!(lost = attempts.len() as u64 - recorded, "leases ran out before their attempts ended");
        }
        Ok(gone.into_values().collect())
    }
}

/// An endpoint that responded with 410 to an attempt that was not a replay.
#[derive(Debug)]
pub(super) struct Gone {
    pub(super) company: CompanyId,
    pub(super) subscription: SubscriptionId,
    /// The URL that responded.
    pub(super) url: EndpointUrl,
}

/// A batch of attempts and their next states, by column, as one statement takes them.
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
    /// The subscriptions of the attempts, without duplicates.
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
