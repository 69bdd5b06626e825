//! An entry of the ledger: a payment, the new facts about it, and what follows from them.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::events::NewEvent;
use crate::gateways::facts::{DueEvent, Fact, FactKind, KnownFacts, State};
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId, PaymentId};
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::TraceContext;
use crate::members;

/// The facts of one callback about one payment.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The company that owns the gateway.
    pub company: CompanyId,
    /// The gateway. Together with the company and `transaction`, it identifies the payment.
    pub gateway: GatewayId,
    /// The gateway's name of the transaction.
    pub transaction: &'a str,
    /// The payment, if it is known.
    pub payment: Option<PaymentId>,
    /// The callback that contains the facts.
    pub callback: CallbackId,
    /// The request that brought the callback, or had it processed again.
    pub request: Option<RequestId>,
    /// The span of this request, if it is recorded.
    pub trace: Option<TraceContext>,
    /// When the facts are recorded.
    pub at: DateTime<Utc>,
    /// The facts. Those that a payment can have several of have a reference.
    pub facts: Vec<Fact>,
}

/// The changes to one payment.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The payment.
    pub payment: PaymentId,
    /// The first report about the payment; gateway and transaction are the same in all of them.
    pub about: &'a Report<'a>,
    /// The state that follows from all facts, known and new.
    pub state: State,
    /// Whether the payment is new or its state has changed.
    pub has_moved: bool,
    /// The new facts, as they are stored.
    pub facts: Vec<NewFact<'a>>,
    /// The events that became due.
    pub events: Vec<NewEvent>,
}

/// A fact to insert.
#[derive(Debug)]
pub struct NewFact<'a> {
    /// The payment that the fact is about.
    pub payment: PaymentId,
    /// The sequence number among all facts about the payment, from 1.
    pub sequence: i32,
    /// The report that contains the fact.
    pub report: &'a Report<'a>,
    /// The position of the fact in the report.
    pub position: i16,
    /// The fact.
    pub fact: Fact,
}

impl<'a> Entry<'a> {
    /// Adds the facts of `reports` one by one to those in `known`, which is empty for a new payment. There is at least one report with
    /// at least one fact.
    pub fn of(payment: PaymentId, mut known: KnownFacts, reports: &[&'a Report<'a>]) -> Self {
        let before = known.state();
        let (mut facts, mut due) = (Vec::new(), Vec::new());
        for report in reports {
            for (position, fact) in (0..).zip(&report.facts) {
                due.extend(known.add(fact).into_iter().map(|due| Due { report, due }));
                let sequence = i32::try_from(known.number()).expect("two billion facts do not fit into memory");
                facts.push(NewFact { payment, sequence, report, position, fact: fact.clone() });
            }
        }
        let state = known.state().expect("a report has at least one fact");
        let events = due.into_iter().map(|due| due.event(payment, &state)).collect();
        Self { payment, about: reports[0], has_moved: before.as_ref() != Some(&state), state, facts, events }
    }
}

/// An event that became due by a report.
struct Due<'a> {
    report: &'a Report<'a>,
    due: DueEvent,
}

impl Due<'_> {
    fn event(self, payment: PaymentId, state: &State) -> NewEvent {
        let Report { company, request, trace, .. } = *self.report;
        let (name, subject) = (self.due.normalised.event(), Some(payment.uuid()));
        NewEvent { company, name, subject, owner: None, request, trace, data: self.data(payment, state).into() }
    }

    /// The `data` of a normalised event (decisions, sections 7 and 8). Values that the fact lacks come from the payment. `payment` is the state that
    /// follows from everything known when the event was published, so a subscriber sees when the event tells of what the payment has passed.
    fn data(&self, payment: PaymentId, state: &State) -> Map<String, Value> {
        let Self { report, due: DueEvent { fact, normalised, amount } } = self;
        // A total is of all refunds and names none of them.
        let reference = Some(&fact.reference).filter(|reference| !reference.is_empty() && fact.kind != FactKind::RefundedInAll);
        let mut data = members! {
            "id": payment,
            "public_id": payment,
            "uuid": payment.uuid(),
            "gateway": report.gateway,
            "gateway_transaction_id": report.transaction,
            "status": normalised.status(),
            "amount": amount.or(state.amount),
            "currency": fact.currency.as_ref().or(state.currency.as_ref()),
            "payment": {
                "status": state.status,
                "amount": state.amount,
                "refunded_amount": state.refunded,
                "currency": state.currency,
                "dispute": state.dispute,
            },
        };
        let optional = [
            ("reference", reference.map(|reference| reference.clone().into())),
            ("order_id", fact.order.or(state.order).map(|order| order.to_string().into())),
            ("customer_id", fact.customer.or(state.customer).map(|customer| customer.to_string().into())),
            ("message", fact.message.clone().map(Value::from)),
        ];
        data.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        data.extend(members! { "meta": {}, "additionalData": {} });
        data
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn report(callback: u128, facts: Vec<Fact>) -> Report<'static> {
        let (company, gateway) = (CompanyId::from(Uuid::from_u128(1)), GatewayId::from(Uuid::from_u128(2)));
        let callback = CallbackId::from(Uuid::from_u128(callback));
        let (request, trace) = (None, None);
        Report { company, gateway, transaction: "pi_1", payment: None, callback, request, trace, at: DateTime::UNIX_EPOCH, facts }
    }

    /// The facts, each with its numbers, and the events.
    type Written = (Vec<(i32, CallbackId, i16, Fact)>, Vec<String>);

    fn written(entry: &Entry<'_>) -> Written {
        let facts = entry.facts.iter().map(|new| (new.sequence, new.report.callback, new.position, new.fact.clone()));
        let events = entry.events.iter().map(|event| format!("{} {}", event.name.as_str(), serde_json::json!(event.data)["amount"]));
        (facts.collect(), events.collect())
    }

    #[test]
    fn what_comes_together_ends_like_what_comes_one_by_one() {
        let in_all = |total: i64| Fact { total: Some(total), reference: total.to_string(), ..Fact::new(FactKind::RefundedInAll) };
        let refund = Fact { amount: Some(300), reference: "re_1".to_owned(), ..Fact::new(FactKind::RefundProcessed) };
        let paid = Fact { amount: Some(1000), ..Fact::new(FactKind::PaymentSucceeded) };
        let reports =
            [report(1, vec![in_all(300)]), report(2, vec![paid.clone(), refund]), report(3, vec![paid]), report(4, vec![in_all(700)])];
        let payment = PaymentId::from(Uuid::from_u128(9));

        let together = Entry::of(payment, KnownFacts::default(), &reports.iter().collect::<Vec<_>>());
        let (mut one_by_one, mut known, mut moved) = ((Vec::new(), Vec::new()), KnownFacts::default(), Vec::new());
        let mut state = None;
        for report in &reports {
            let entry = Entry::of(payment, known.clone(), &[report]);
            let (facts, events) = written(&entry);
            for (.., fact) in &facts {
                known.add(fact);
            }
            one_by_one.0.extend(facts);
            one_by_one.1.extend(events);
            moved.push(entry.has_moved);
            state = Some(entry.state);
        }
        assert_eq!(written(&together), one_by_one);
        assert_eq!(one_by_one.0.iter().map(|(sequence, ..)| *sequence).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!(one_by_one.1, ["refund.processed 300", "payment.succeeded 1000", "refund.processed 400"]);
        assert_eq!((together.has_moved, moved), (true, vec![true, true, false, true]), "a repeated report changes nothing");
        assert_eq!(Some(together.state), state);
    }
}
