//! Any order and any repetition of a payment's callbacks ends in the same state and makes each event due once.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::gateways::facts::{Fact, FactKind, Normalised};

pub(super) fn fact(kind: FactKind, reference: &str, amount: i64) -> Fact {
    let total = (kind == FactKind::RefundedInAll).then(|| reference.parse().unwrap());
    Fact { reference: reference.to_owned(), amount: Some(amount), total, currency: "USD".parse().ok(), ..Fact::new(kind) }
}

/// A total that does not say what is new in it.
pub(super) fn bare_total(total: i64) -> Fact {
    Fact { amount: None, ..fact(FactKind::RefundedInAll, &total.to_string(), 0) }
}

/// An event that became due, with the refund or dispute of the fact that made it due.
pub(super) type Due = (Normalised, String);

/// Adds the facts one after the other; returns the final state, the published events, and the amounts of those of refunds.
pub(super) fn arrive(facts: &[Fact]) -> (State, Vec<Due>, Vec<i64>) {
    let (mut known, mut published, mut amounts) = (KnownFacts::default(), Vec::new(), Vec::new());
    for fact in facts {
        for DueEvent { fact, normalised, amount } in known.add(fact) {
            match normalised {
                Normalised::RefundProcessed => amounts.push(amount.unwrap()),
                _ => published.push((normalised, fact.reference)),
            }
        }
    }
    published.sort();
    amounts.sort_unstable();
    (known.state().unwrap_or_else(nothing), published, amounts)
}

fn nothing() -> State {
    let (kind, status) = (Kind::Payment, Status::Pending);
    State { kind, status, amount: None, refunded: 0, currency: None, dispute: None, order: None, customer: None }
}

/// What was refunded and what was reported, as they are defined: over the whole set of facts.
fn refunds_as_defined(facts: &[Fact]) -> (i64, i64) {
    let by_reference = |kind| {
        let mut refunds = BTreeMap::<&str, i64>::new();
        for fact in facts.iter().filter(|fact| fact.kind == kind) {
            let amount = refunds.entry(&fact.reference).or_default();
            *amount = fact.amount.unwrap_or(0).max(*amount);
        }
        refunds
    };
    let (made, failed) = (by_reference(FactKind::RefundProcessed), by_reference(FactKind::RefundFailed));
    let summed = by_reference(FactKind::RefundedInAll);
    let one_by_one = made.iter().filter(|(id, _)| !failed.contains_key(*id)).map(|(_, amount)| amount).sum::<i64>();
    let in_all = facts.iter().filter_map(|fact| fact.total).max().unwrap_or(0);
    let how_often = |refunds: &BTreeMap<&str, i64>, amount| refunds.values().filter(|each| **each == amount).count();
    let amounts: BTreeSet<i64> = made.values().chain(summed.values()).copied().collect();
    let in_parts =
        amounts.into_iter().map(|amount| amount * i64::try_from(how_often(&made, amount).max(how_often(&summed, amount))).unwrap()).sum();
    let reported = if facts.iter().any(|fact| fact.total.is_some() && fact.amount.is_none()) { in_all.max(in_parts) } else { in_parts };
    (one_by_one.max(in_all - failed.values().sum::<i64>()).max(0), reported)
}

/// The callbacks of one payment: one or two attempts; refunds reported individually, as a total, or both; and a dispute.
fn story() -> impl Strategy<Value = Vec<Fact>> {
    use FactKind::*;
    let refunds = prop::collection::vec((1_i64..4).prop_map(|hundreds| hundreds * 100), 0..4);
    (any::<[bool; 6]>(), refunds, prop::option::of(0..4_usize), 0..4_u8).prop_map(|(included, refunds, came_back, dispute)| {
        let [pending, failed, succeeded, by_name, by_sum, setup] = included;
        let mut facts = Vec::new();
        facts.extend(pending.then(|| fact(PaymentPending, "", 1000)));
        facts.extend(failed.then(|| fact(PaymentFailed, "", 1000)));
        facts.extend(succeeded.then(|| fact(PaymentSucceeded, "", 1000)));
        facts.extend(setup.then(|| fact(SetupSucceeded, "", 0)));
        let mut sum = 0;
        for (index, amount) in refunds.iter().enumerate() {
            let id = format!("re_{index}");
            sum += amount;
            facts.extend(by_name.then(|| fact(RefundPending, &id, *amount)));
            facts.extend(by_name.then(|| fact(RefundProcessed, &id, *amount)));
            facts.extend(by_sum.then(|| fact(RefundedInAll, &sum.to_string(), *amount)));
            facts.extend((came_back == Some(index)).then(|| fact(RefundFailed, &id, *amount)));
        }
        let stages = [DisputeCreated, DisputeUpdated, if dispute == 3 { DisputeWon } else { DisputeLost }];
        facts.extend(stages[..usize::from(dispute.min(2)) + usize::from(dispute > 2)].iter().map(|kind| fact(*kind, "dp_1", 1000)));
        facts
    })
}

/// The amounts of some refunds, and facts that report all of them: by name, as new totals or as bare totals, and any of the others
/// besides.
fn refunds_in_every_way() -> impl Strategy<Value = (Vec<i64>, Vec<Fact>)> {
    let refunds = prop::collection::vec((1_i64..4).prop_map(|hundreds| hundreds * 100), 1..5);
    refunds.prop_flat_map(|refunds| {
        let sums: Vec<i64> = (1..=refunds.len()).map(|count| refunds[..count].iter().sum()).collect();
        let named: Vec<_> =
            (0..).zip(&refunds).map(|(index, amount): (i32, _)| fact(FactKind::RefundProcessed, &index.to_string(), *amount)).collect();
        let new_totals: Vec<_> =
            sums.iter().zip(&refunds).map(|(sum, amount)| fact(FactKind::RefundedInAll, &sum.to_string(), *amount)).collect();
        let bare_totals: Vec<_> = sums.iter().map(|sum| bare_total(*sum)).collect();
        let every = [named, new_totals, bare_totals];
        let besides = prop::sample::subsequence(every.concat(), 0..=3 * refunds.len());
        let arrivals = (0..3_usize, besides).prop_map(move |(complete, besides)| [every[complete].clone(), besides].concat());
        (Just(refunds), arrivals.prop_shuffle())
    })
}

fn shuffled_and_repeated() -> impl Strategy<Value = (Vec<Fact>, Vec<Fact>)> {
    story().prop_flat_map(|facts| {
        let twice: Vec<_> = facts.iter().chain(&facts).cloned().collect();
        let again = prop::sample::subsequence(facts.clone(), 0..=facts.len());
        let arrivals = (Just(twice).prop_shuffle(), again).prop_map(|(mut twice, again)| {
            twice.extend(again);
            twice
        });
        (Just(facts), arrivals)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_order_and_repetition_ends_in_one_state_and_publishes_each_event_once((facts, arrivals) in shuffled_and_repeated()) {
        let (in_order, mut out_of_order) = (arrive(&facts), arrive(&arrivals));
        let tells_of = |kind| facts.iter().any(|fact| fact.kind == kind);
        if (tells_of(FactKind::PaymentPending) || tells_of(FactKind::PaymentFailed)) && !tells_of(FactKind::PaymentSucceeded) {
            // Only a refund that comes before everything else is published: nobody knows yet that the payment is held or failed.
            out_of_order.2.clone_from(&in_order.2);
        }
        prop_assert_eq!(&in_order, &out_of_order);
        let mut once = in_order.1.clone();
        once.dedup();
        prop_assert_eq!(once, in_order.1);
    }

    #[test]
    fn refunds_one_by_one_amount_to_what_they_do_together((_, arrivals) in shuffled_and_repeated(), (_, refunds) in refunds_in_every_way()) {
        for facts in [arrivals, refunds] {
            let mut refunds = Refunds::default();
            for (so_far, fact) in (1..).zip(&facts) {
                refunds.add(fact);
                prop_assert_eq!((refunds.refunded(0), refunds.reported(0)), refunds_as_defined(&facts[..so_far]));
            }
        }
    }

    #[test]
    fn published_refunds_add_up_to_what_was_refunded((refunds, arrivals) in refunds_in_every_way()) {
        let (state, _, amounts) = arrive(&arrivals);
        let sum = refunds.iter().sum::<i64>();
        prop_assert_eq!((state.refunded, amounts.iter().sum()), (sum, sum));
        if arrivals.iter().all(|fact| fact.amount.is_some()) {
            let mut each = refunds;
            each.sort_unstable();
            prop_assert_eq!(amounts, each, "each refund has its event");
        }
    }
}

#[test]
fn the_states_of_a_payment() {
    use FactKind::*;
    let paid = fact(PaymentSucceeded, "", 1000);
    let status = |facts: &[Fact]| arrive(facts).0.status;
    assert_eq!(status(&[fact(PaymentPending, "", 1000)]), Status::Pending);
    assert_eq!(status(&[fact(PaymentPending, "", 1000), fact(PaymentFailed, "", 1000)]), Status::Failed);
    assert_eq!(status(&[fact(PaymentFailed, "", 1000), paid.clone()]), Status::Succeeded);
    assert_eq!(status(&[fact(RefundProcessed, "a", 300)]), Status::PartiallyRefunded, "the refund came first");
    assert_eq!(status(&[paid.clone(), fact(RefundProcessed, "a", 300)]), Status::PartiallyRefunded);
    assert_eq!(status(&[paid.clone(), fact(RefundProcessed, "a", 300), fact(RefundProcessed, "b", 700)]), Status::Refunded);
    assert_eq!(status(&[paid.clone(), fact(RefundPending, "a", 300)]), Status::Succeeded);
    assert_eq!(status(&[paid.clone(), fact(RefundProcessed, "a", 1000), fact(RefundFailed, "a", 1000)]), Status::Succeeded);
    assert_eq!(status(&[paid.clone(), fact(DisputeCreated, "d", 1000)]), Status::Disputed);
    assert_eq!(status(&[paid.clone(), fact(DisputeWon, "d", 1000), fact(DisputeCreated, "d", 1000)]), Status::Succeeded);
    assert_eq!(status(&[paid.clone(), fact(DisputeLost, "d", 1000), fact(DisputeUpdated, "d", 1000)]), Status::Disputed);
    let (setup, ..) = arrive(&[fact(SetupSucceeded, "", 0)]);
    assert_eq!((setup.kind, setup.status, setup.amount), (Kind::Setup, Status::Succeeded, None));
}

#[test]
fn a_released_authorisation_is_a_payment_that_failed() {
    use FactKind::*;
    let (held, released) = (fact(PaymentPending, "", 5000), fact(AuthorisationReleased, "", 5000));
    let (cancelled, told_as_refund) = (fact(PaymentFailed, "", 5000), fact(RefundProcessed, "re_1", 5000));
    let (state, published, amounts) = arrive(&[held.clone(), cancelled.clone(), released.clone(), told_as_refund.clone()]);
    assert_eq!((state.status, state.refunded, amounts), (Status::Failed, 0, vec![]));
    assert_eq!(
        published.iter().map(|(normalised, _)| *normalised).collect::<Vec<_>>(),
        [Normalised::PaymentFailed, Normalised::PaymentPending]
    );
    let (other_order, ..) = arrive(&[told_as_refund, released, cancelled, held]);
    assert_eq!(other_order, state);
}

#[test]
fn of_a_part_that_was_captured_the_rest_is_released_and_not_refunded() {
    use FactKind::*;
    let (captured, released) = (fact(PaymentSucceeded, "", 3000), fact(AuthorisationReleased, "", 2000));
    let refund = fact(RefundedInAll, "2500", 500);
    for facts in [vec![captured.clone(), released.clone(), refund.clone()], vec![released.clone(), refund, captured.clone()]] {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.refunded, amounts), (Status::PartiallyRefunded, 500, vec![500]));
    }
    let (state, ..) = arrive(&[captured, bare_total(2500), released]);
    assert_eq!(state.refunded, 500, "what was released can be learnt later");
}

#[test]
fn a_refund_of_what_was_released_is_the_release() {
    use FactKind::*;
    let (captured, released) = (fact(PaymentSucceeded, "", 3000), fact(AuthorisationReleased, "", 2000));
    let (release, refund) = (fact(RefundProcessed, "re_1", 2000), fact(RefundProcessed, "re_2", 500));
    let (state, _, amounts) = arrive(&[captured.clone(), released.clone(), release.clone(), refund.clone()]);
    assert_eq!((state.refunded, amounts), (500, vec![500]));
    let (state, _, amounts) = arrive(&[captured.clone(), released.clone(), fact(RefundedInAll, "4000", 2000), release.clone()]);
    assert_eq!((state.refunded, amounts), (2000, vec![2000]), "a refund of the same amount");
    let (state, ..) = arrive(&[release.clone(), refund.clone(), captured.clone(), released.clone()]);
    assert_eq!(state.refunded, 500, "what was released can be learnt later");
    let (state, ..) = arrive(&[captured, released, release, fact(RefundFailed, "re_1", 2000), refund]);
    assert_eq!(state.refunded, 500, "it counts neither before nor after it failed");
}

#[test]
fn captures_in_parts_add_up() {
    use FactKind::*;
    let parts = [fact(PaymentSucceeded, "cap_1", 3000), fact(PaymentSucceeded, "cap_2", 7000)];
    let (state, published, _) = arrive(&[fact(PaymentPending, "", 10_000), parts[1].clone(), parts[0].clone(), parts[1].clone()]);
    assert_eq!((state.status, state.amount), (Status::Succeeded, Some(10_000)));
    assert_eq!(
        published.iter().filter(|(normalised, _)| *normalised == Normalised::PaymentSucceeded).count(),
        2,
        "each capture has its event"
    );
}

#[test]
fn a_refund_in_another_currency_does_not_give_the_payment_back() {
    use FactKind::*;
    let euros = Fact { currency: "EUR".parse().ok(), ..fact(RefundProcessed, "re_1", 1000) };
    for facts in [[fact(PaymentSucceeded, "", 1000), euros.clone()], [euros, fact(PaymentSucceeded, "", 1000)]] {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.refunded, amounts), (Status::Succeeded, 0, vec![1000]));
    }
}

#[test]
fn an_inquiry_moves_no_money_and_whatever_tells_of_a_dispute_first_publishes_it() {
    use FactKind::*;
    let chargebacks = |facts: &[Fact]| {
        let (state, published, _) = arrive(facts);
        (state.status, published.iter().filter(|(normalised, _)| *normalised == Normalised::ChargebackCreated).count())
    };
    let (paid, inquiry) = (fact(PaymentSucceeded, "", 1000), fact(InquiryOpened, "dp_1", 1000));
    assert_eq!(chargebacks(&[paid.clone(), inquiry.clone(), fact(InquiryClosed, "dp_1", 1000)]), (Status::Succeeded, 0));
    let escalated = [paid.clone(), inquiry, fact(DisputeUpdated, "dp_1", 1000), fact(DisputeCreated, "dp_1", 1000)];
    assert_eq!(chargebacks(&escalated), (Status::Disputed, 1));
    assert_eq!(chargebacks(&[paid, fact(DisputeLost, "dp_1", 1000)]), (Status::Disputed, 1), "created never came");
}

#[test]
fn a_refund_told_twice_is_one_refund() {
    use FactKind::*;
    let facts = [fact(PaymentSucceeded, "", 1000), fact(RefundedInAll, "300", 300), fact(RefundProcessed, "a", 300)];
    let (state, _, amounts) = arrive(&facts);
    assert_eq!((state.refunded, amounts), (300, vec![300]));
    let (state, _, amounts) = arrive(&[fact(RefundedInAll, "300", 300), fact(RefundedInAll, "600", 300)]);
    assert_eq!((state.refunded, amounts), (600, vec![300, 300]), "two refunds of one amount are two");
}

#[test]
fn what_totals_alone_publish_depends_on_the_order_and_adds_up() {
    let named = |id: &str, amount| fact(FactKind::RefundProcessed, id, amount);
    for (facts, published) in [
        (vec![bare_total(300), bare_total(700)], vec![300, 400]),
        (vec![bare_total(700), bare_total(300)], vec![700]),
        (vec![bare_total(700), named("re_1", 300), named("re_2", 400)], vec![700]),
        (vec![named("re_1", 300), bare_total(700), named("re_2", 400)], vec![300, 400]),
        (vec![fact(FactKind::RefundedInAll, "700", 400), bare_total(300)], vec![300, 400]),
    ] {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.refunded, amounts), (700, published), "{facts:?}");
    }
}

#[test]
fn no_number_of_the_largest_amounts_is_too_much() {
    let refund = |id: &str| fact(FactKind::RefundProcessed, id, i64::MAX);
    let (state, _, amounts) = arrive(&[refund("a"), refund("b"), refund("c")]);
    assert_eq!((state.refunded, amounts), (i64::MAX, vec![i64::MAX]));
}
