//! Adding what a callback tells to its payment, in the transaction that records the callback.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::{self, NewEvent};
use crate::gateways::payments::state::due;
use crate::gateways::payments::{Fact, Normalised, State, queries};
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId, PaymentId};
use crate::members;

/// Where facts come from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Whose gateway.
    pub company: CompanyId,
    /// Which.
    pub gateway: GatewayId,
    /// What it sent.
    pub callback: CallbackId,
    /// What it calls the transaction that the facts are about.
    pub transaction: &'a str,
}

/// Adds the facts, brings the payment to the state that follows, and publishes what became due.
pub async fn apply(conn: &mut PgConnection, source: Source<'_>, told: Vec<Fact>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let first: Vec<_> = settle(&mut Vec::new(), told.clone());
    let payment = PaymentId::new(now);
    if queries::insert_payment(conn, payment, source, &State::of(&first), &first, now).await? {
        return publish(conn, source, payment, &[], first, now).await;
    }
    // Somebody told of it before. Its row is locked until the end, so that two callbacks never see the same facts as new.
    let payment = queries::lock_payment(conn, source).await?;
    let mut known = queries::list_facts(conn, payment).await?;
    let before = known.clone();
    let told = settle(&mut known, told);
    queries::insert_facts(conn, payment, source, &told, now).await?;
    let (was, is) = (State::of(&before), State::of(&known));
    if was != is {
        queries::set_state(conn, payment, &is, now).await?;
    }
    publish(conn, source, payment, &before, told, now).await
}

/// The facts as they are kept; each is added to `known`.
fn settle(known: &mut Vec<Fact>, told: Vec<Fact>) -> Vec<Fact> {
    let mut settled = Vec::with_capacity(told.len());
    for fact in told {
        let fact = fact.settled(known);
        known.push(fact.clone());
        settled.push(fact);
    }
    settled
}

async fn publish(
    conn: &mut PgConnection,
    source: Source<'_>,
    payment: PaymentId,
    before: &[Fact],
    told: Vec<Fact>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let mut known = before.to_vec();
    let mut published = due(&known);
    for fact in told {
        known.push(fact.clone());
        let due = due(&known);
        let state = State::of(&known);
        for (normalised, _) in due.difference(&published) {
            let data = data(source, payment, *normalised, &fact, &state);
            let event = NewEvent { company: source.company, name: normalised.event(), subject: Some(payment.uuid()), data };
            events::publish(conn, event, now).await?;
        }
        published = due;
    }
    Ok(())
}

/// The `data` of a normalised event (decisions, sections 7 and 8). What the fact itself does not say, the payment does.
fn data(source: Source<'_>, payment: PaymentId, normalised: Normalised, fact: &Fact, state: &State) -> Map<String, Value> {
    let mut data = members! {
        "id": payment,
        "public_id": payment,
        "uuid": payment.uuid(),
        "gateway": source.gateway,
        "gateway_transaction_id": source.transaction,
        "status": normalised.status(),
        "amount": fact.amount.or(state.amount),
        "currency": fact.currency.as_ref().or(state.currency.as_ref()),
    };
    let optional = [
        ("reference", Some(&fact.reference).filter(|reference| !reference.is_empty()).map(|reference| reference.clone().into())),
        ("order_id", fact.order.or(state.order).map(|order| order.to_string().into())),
        ("customer_id", fact.customer.or(state.customer).map(|customer| customer.to_string().into())),
        ("message", fact.message.clone().map(Value::from)),
    ];
    data.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    data.extend(members! { "meta": {}, "additionalData": {} });
    data
}
