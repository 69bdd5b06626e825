//! Every order of the callbacks of one payment: the state is the same, and no event tells of what did not happen.

use crate::gateways::facts::FactKind::{self, *};
use crate::gateways::facts::state::tests::{arrive, bare_total, fact};
use crate::gateways::facts::state::*;

/// The facts of these callbacks, in every order of the callbacks.
fn orders(callbacks: &[Vec<Fact>]) -> Vec<Vec<Fact>> {
    if callbacks.is_empty() {
        return vec![Vec::new()];
    }
    let beginning_with = |first: usize| {
        let mut rest = callbacks.to_vec();
        let first = rest.remove(first);
        orders(&rest).into_iter().map(move |rest| [first.clone(), rest].concat())
    };
    (0..callbacks.len()).flat_map(beginning_with).collect()
}

fn one(kind: FactKind, reference: &str, amount: i64) -> Vec<Fact> {
    vec![fact(kind, reference, amount)]
}

#[test]
fn a_cancelled_authorisation_whose_release_is_told_as_a_refund_was_not_refunded() {
    let cancelled = || vec![fact(PaymentFailed, "", 5000), fact(AuthorisationReleased, "", 5000)];
    let refund = one(RefundProcessed, "re_1", 5000);
    for callbacks in [
        vec![one(PaymentPending, "", 5000), cancelled(), refund.clone(), cancelled()],
        vec![one(PaymentPending, "", 5000), cancelled(), refund.clone()],
        vec![cancelled(), refund.clone()],
        vec![one(PaymentFailed, "", 5000), refund.clone(), cancelled()],
        vec![one(PaymentFailed, "", 5000), refund],
    ] {
        for facts in orders(&callbacks) {
            let (state, _, amounts) = arrive(&facts);
            assert_eq!((state.status, state.refunded), (Status::Failed, 0), "{facts:?}");
            // A refund of which nothing else is known may be one of a payment whose beginning was never told.
            assert_eq!(amounts.is_empty(), facts[0].kind != RefundProcessed, "{facts:?}");
        }
    }
}

#[test]
fn a_refund_of_a_payment_that_failed_is_published_when_another_attempt_succeeds() {
    let callbacks = [one(PaymentFailed, "", 5000), one(RefundProcessed, "re_1", 2000), one(PaymentSucceeded, "", 5000)];
    for facts in orders(&callbacks) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.refunded, amounts), (Status::PartiallyRefunded, 2000, vec![2000]), "{facts:?}");
    }
    let (state, published, amounts) = arrive(&callbacks[..2].concat());
    assert_eq!((state.status, state.refunded, amounts.len()), (Status::Failed, 0, 0));
    assert_eq!(published, [(Normalised::PaymentFailed, String::new())]);
}

#[test]
fn a_refund_of_a_payment_that_is_held_is_published_when_the_payment_succeeds() {
    let callbacks = [
        one(PaymentPending, "", 5000),
        one(RefundProcessed, "re_1", 2000),
        one(RefundProcessed, "re_2", 500),
        one(PaymentSucceeded, "", 5000),
        one(PaymentFailed, "", 5000),
    ];
    for facts in orders(&callbacks) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.refunded, amounts), (Status::PartiallyRefunded, 2500, vec![500, 2000]), "{facts:?}");
    }
    let mut known = KnownFacts::default();
    for facts in &callbacks[..3] {
        known.add(&facts[0]);
    }
    assert_eq!(known.state().map(|state| (state.status, state.refunded)), Some((Status::Pending, 0)));
    let due = known.add(&callbacks[3][0]);
    let told: Vec<_> = due.iter().map(|due| (due.normalised, due.fact.reference.as_str(), due.amount)).collect();
    assert_eq!(
        told,
        [
            (Normalised::PaymentSucceeded, "", Some(5000)),
            (Normalised::RefundProcessed, "re_1", Some(2000)),
            (Normalised::RefundProcessed, "re_2", Some(500))
        ]
    );
}

#[test]
fn a_release_that_is_told_before_its_partial_capture_is_never_a_refund() {
    let captured = vec![fact(AuthorisationReleased, "", 2000), fact(PaymentSucceeded, "", 3000)];
    for facts in orders(&[one(PaymentPending, "", 5000), one(RefundProcessed, "re_1", 2000), captured]) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.amount, state.refunded), (Status::Succeeded, Some(3000), 0), "{facts:?}");
        assert_eq!(amounts.is_empty(), facts[0].kind != RefundProcessed, "{facts:?}");
    }
}

#[test]
fn what_is_paid_in_parts_is_published_as_it_grows() {
    let paid_in = |facts: &[Fact]| {
        let mut known = KnownFacts::default();
        let due: Vec<_> = facts.iter().flat_map(|fact| known.add(fact)).collect();
        assert_eq!(known.state().and_then(|state| state.amount), Some(10_000), "{facts:?}");
        let paid = due.into_iter().filter(|due| due.normalised == Normalised::PaymentSucceeded);
        paid.map(|due| (due.fact.reference, due.amount.unwrap())).collect::<Vec<_>>()
    };
    let in_all = |amount| fact(PaymentSucceeded, "", amount);
    let part = |reference, amount| fact(PaymentSucceeded, reference, amount);
    let told = |events: &[(&str, i64)]| events.iter().map(|(reference, amount)| ((*reference).to_owned(), *amount)).collect::<Vec<_>>();
    for (facts, events) in [
        (vec![in_all(3000), in_all(10_000), in_all(10_000)], told(&[("", 3000), ("", 7000)])),
        (vec![in_all(10_000), in_all(10_000), in_all(3000)], told(&[("", 10_000)])),
        (vec![part("a", 3000), part("b", 7000), part("b", 7000)], told(&[("a", 3000), ("b", 7000)])),
        (vec![part("a", 3000), in_all(10_000), part("b", 7000)], told(&[("a", 3000), ("", 7000)])),
        (vec![in_all(10_000), part("b", 7000), part("a", 3000)], told(&[("", 10_000)])),
    ] {
        assert_eq!(paid_in(&facts), events, "{facts:?}");
        for order in orders(&facts.into_iter().map(|fact| vec![fact]).collect::<Vec<_>>()) {
            assert_eq!(paid_in(&order).into_iter().map(|(_, amount)| amount).sum::<i64>(), 10_000, "{order:?}");
        }
    }
}

#[test]
fn captures_in_different_currencies_are_not_added() {
    let euros = Fact { currency: "EUR".parse().ok(), ..fact(PaymentSucceeded, "cap_1", 3000) };
    let dollars = fact(PaymentSucceeded, "cap_2", 7000);
    for facts in orders(&[vec![euros.clone()], vec![dollars.clone()], vec![euros], vec![dollars]]) {
        let mut known = KnownFacts::default();
        let due = facts.iter().flat_map(|fact| known.add(fact));
        let mut told: Vec<_> = due.map(|due| (due.amount.unwrap(), due.fact.currency.unwrap().to_string())).collect();
        told.sort();
        assert_eq!(told, [(3000, "EUR".to_owned()), (7000, "USD".to_owned())], "{facts:?}");
        let state = known.state().unwrap();
        assert_eq!((state.amount, state.currency), (Some(7000), "USD".parse().ok()), "{facts:?}");
    }
}

#[test]
fn a_payment_of_nothing_succeeds_once() {
    let (state, published, _) = arrive(&[fact(PaymentSucceeded, "", 0), fact(PaymentSucceeded, "", 0)]);
    assert_eq!((state.status, state.amount, published.len()), (Status::Succeeded, Some(0), 1));
}

/// A release of a part of 10000 that had been authorised.
fn released(amount: i64) -> Fact {
    Fact { total: Some(10_000), ..fact(AuthorisationReleased, "", amount) }
}

#[test]
fn a_refund_between_two_captures_is_no_release() {
    let refund = one(RefundProcessed, "re_1", 4000);
    let first = vec![released(4000), fact(PaymentSucceeded, "", 6000)];
    let refunded = vec![released(4000), bare_total(4000)];
    let second = one(PaymentSucceeded, "", 10_000);
    let more = one(RefundedInAll, "5000", 1000);
    for (callbacks, sum) in [
        (vec![first.clone(), refund.clone(), refunded.clone(), second.clone()], 4000),
        (vec![first.clone(), refunded.clone(), second.clone()], 4000),
        (vec![first.clone(), refund.clone(), second.clone()], 4000),
        (vec![first.clone(), refund, refunded.clone(), second.clone(), more], 5000),
    ] {
        for facts in orders(&callbacks) {
            let (state, _, amounts) = arrive(&facts);
            assert_eq!((state.status, state.amount, state.refunded), (Status::PartiallyRefunded, Some(10_000), sum), "{facts:?}");
            assert_eq!(amounts.iter().sum::<i64>(), sum, "{facts:?}");
        }
    }
}

#[test]
fn a_refund_before_the_last_capture_is_published_once() {
    let total = |total: i64, added: i64| one(RefundedInAll, &total.to_string(), added);
    let release = one(RefundProcessed, "re_9", 4000);
    let callbacks = [
        one(PaymentSucceeded, "", 3000),
        one(RefundProcessed, "re_1", 2000),
        total(2000, 2000),
        vec![released(4000), fact(PaymentSucceeded, "", 6000), bare_total(6000)],
        release.clone(),
        vec![released(4000), bare_total(6000)],
    ];
    for facts in orders(&callbacks) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.amount, state.refunded), (Status::PartiallyRefunded, Some(6000), 2000), "{facts:?}");
        let place = |searched: &Fact| facts.iter().position(|fact| fact == searched);
        // Nobody knows that a refund is the release before it is told that something was released.
        let untrue = if place(&release[0]) < place(&released(4000)) { 4000 } else { 0 };
        assert_eq!(amounts.iter().sum::<i64>(), 2000 + untrue, "{facts:?}");
    }
    let natural = [
        one(PaymentSucceeded, "", 3000),
        one(RefundProcessed, "re_1", 2000),
        total(2000, 2000),
        one(RefundProcessed, "re_2", 1000),
        total(3000, 1000),
        vec![released(4000), fact(PaymentSucceeded, "", 6000), bare_total(7000)],
        release,
        vec![released(4000), bare_total(7000)],
    ];
    let (state, _, amounts) = arrive(&natural.concat());
    assert_eq!((state.refunded, amounts), (3000, vec![1000, 2000]));
}

#[test]
fn the_last_capture_leaves_the_refund_before_it() {
    let captured = one(PaymentSucceeded, "", 3000);
    let refunded = one(RefundedInAll, "2000", 2000);
    let last = vec![released(4000), fact(PaymentSucceeded, "", 6000), bare_total(6000)];
    let refund = one(RefundProcessed, "re_1", 2000);
    for callbacks in [vec![captured.clone(), refunded.clone(), last.clone()], vec![captured, refunded, last, refund]] {
        for facts in orders(&callbacks) {
            let (state, _, amounts) = arrive(&facts);
            assert_eq!((state.status, state.amount, state.refunded), (Status::PartiallyRefunded, Some(6000), 2000), "{facts:?}");
            assert_eq!(amounts, [2000], "{facts:?}");
        }
    }
}

#[test]
fn the_last_capture_decides_what_was_released() {
    let callbacks = [
        vec![released(7000), fact(PaymentSucceeded, "", 3000)],
        vec![released(4000), fact(PaymentSucceeded, "", 6000)],
        one(RefundProcessed, "re_1", 4000),
        one(RefundProcessed, "re_2", 500),
    ];
    for facts in orders(&callbacks) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.status, state.amount, state.refunded), (Status::PartiallyRefunded, Some(6000), 500), "{facts:?}");
        assert!(amounts.contains(&500), "{facts:?}");
    }
}

#[test]
fn a_release_in_another_currency_is_no_refund_of_the_payment() {
    let euros = |fact: Fact| Fact { currency: "EUR".parse().ok(), ..fact };
    for facts in orders(&[one(PaymentSucceeded, "", 10_000), vec![euros(released(4000))], one(RefundProcessed, "re_1", 4000)]) {
        let (state, _, amounts) = arrive(&facts);
        assert_eq!((state.refunded, amounts), (4000, vec![4000]), "{facts:?}");
    }
}
