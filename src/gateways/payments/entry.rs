//! An entry of the ledger: a payment, what is told about it now, and what follows from that.

use serde_json::{Map, Value};

use crate::events::NewEvent;
use crate::gateways::payments::state::due;
use crate::gateways::payments::{Fact, Normalised, Report, State};
use crate::kernel::ids::PaymentId;
use crate::members;

/// What becomes of one payment.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) payment: PaymentId,
    reports: Vec<&'a Report<'a>>,
    /// Where it stood, if it was there before.
    before: Option<State>,
    /// Where it stands now.
    pub(super) state: State,
    /// What is told, as it is kept.
    pub(super) facts: Vec<NewFact<'a>>,
    /// What became due.
    pub(super) events: Vec<NewEvent>,
}

/// A fact that is to be kept.
#[derive(Debug)]
pub(super) struct NewFact<'a> {
    pub(super) payment: PaymentId,
    /// What it is from.
    pub(super) report: &'a Report<'a>,
    /// Its place in there.
    pub(super) position: i16,
    pub(super) fact: Fact,
}

impl<'a> Entry<'a> {
    /// Of a payment that nobody told of before; there is at least one report.
    pub(super) fn open(payment: PaymentId, reports: Vec<&'a Report<'a>>) -> Self {
        let mut entry = Self { payment, reports, before: None, state: State::of(&[]), facts: Vec::new(), events: Vec::new() };
        entry.follow(Vec::new());
        entry
    }

    /// The payment was there, and this is known of it.
    pub(super) fn resume(&mut self, payment: PaymentId, known: Vec<Fact>) {
        (self.payment, self.before) = (payment, Some(State::of(&known)));
        self.follow(known);
    }

    /// What it is about: the same in every report.
    pub(super) fn about(&self) -> &'a Report<'a> {
        self.reports[0]
    }

    /// Whether it stands elsewhere than before.
    pub(super) fn has_changed(&self) -> bool {
        self.before.as_ref().is_some_and(|before| *before != self.state)
    }

    /// Tells fact by fact what is reported to who knows the facts `known`.
    fn follow(&mut self, mut known: Vec<Fact>) {
        (self.facts, self.events) = (Vec::new(), Vec::new());
        let mut published = due(&known);
        for report in &self.reports {
            for (position, fact) in (0..).zip(&report.facts) {
                let fact = fact.clone().settled(&known);
                known.push(fact.clone());
                let due = due(&known);
                for (normalised, _) in due.difference(&published) {
                    let data = data(report, self.payment, *normalised, &fact, &State::of(&known));
                    let subject = Some(self.payment.uuid());
                    self.events.push(NewEvent { company: report.company, name: normalised.event(), subject, data });
                }
                published = due;
                self.facts.push(NewFact { payment: self.payment, report, position, fact });
            }
        }
        self.state = State::of(&known);
    }
}

/// The `data` of a normalised event (decisions, sections 7 and 8). What the fact itself does not say, the payment does.
fn data(report: &Report<'_>, payment: PaymentId, normalised: Normalised, fact: &Fact, state: &State) -> Map<String, Value> {
    let mut data = members! {
        "id": payment,
        "public_id": payment,
        "uuid": payment.uuid(),
        "gateway": report.gateway,
        "gateway_transaction_id": report.transaction,
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

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::gateways::payments::FactKind;
    use crate::kernel::ids::{CallbackId, CompanyId, GatewayId};

    fn report(callback: u128, facts: Vec<Fact>) -> Report<'static> {
        let (company, gateway) = (CompanyId::from(Uuid::from_u128(1)), GatewayId::from(Uuid::from_u128(2)));
        let callback = CallbackId::from(Uuid::from_u128(callback));
        Report { company, gateway, transaction: "pi_1", callback, at: DateTime::UNIX_EPOCH, facts }
    }

    fn told(entry: &Entry<'_>) -> (Vec<(CallbackId, i16, Fact)>, Vec<String>) {
        let facts = entry.facts.iter().map(|new| (new.report.callback, new.position, new.fact.clone()));
        let events = entry.events.iter().map(|event| format!("{} {}", event.name.as_str(), event.data["amount"]));
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

        let together = Entry::open(payment, reports.iter().collect());
        let (mut one_by_one, mut known) = ((Vec::new(), Vec::new()), Vec::new());
        let mut state = None;
        for report in &reports {
            let mut entry = Entry::open(PaymentId::from(Uuid::from_u128(8)), vec![report]);
            entry.resume(payment, known.clone());
            let (facts, events) = told(&entry);
            known.extend(facts.iter().map(|(_, _, fact)| fact.clone()));
            one_by_one.0.extend(facts);
            one_by_one.1.extend(events);
            state = Some(entry.state);
        }
        assert_eq!(told(&together), one_by_one);
        assert_eq!(one_by_one.1, ["refund.processed 300", "payment.succeeded 1000", "refund.processed 400"]);
        assert!(!together.has_changed() && together.facts.iter().all(|new| new.payment == payment));
        assert_eq!(Some(together.state), state);
    }
}
