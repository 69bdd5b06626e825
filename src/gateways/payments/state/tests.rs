//! Any order and any repetition of a payment's callbacks ends in the same state and makes each event due once.

use proptest::prelude::*;

use super::*;

fn fact(kind: FactKind, reference: &str, amount: i64) -> Fact {
    let total = (kind == FactKind::RefundedInAll).then(|| reference.parse().unwrap());
    Fact { reference: reference.to_owned(), amount: Some(amount), total, currency: "USD".parse().ok(), ..Fact::new(kind) }
}

/// Applies the facts one after the other, as `Entry::of` does; returns the final state and the published events.
fn arrive(facts: &[Fact]) -> (State, Vec<Due>) {
    let (mut known, mut published) = (Vec::new(), Vec::new());
    for fact in facts {
        let before = due(&known);
        let settled = fact.clone().settled(&known);
        known.push(settled);
        let after = due(&known);
        assert!(before.is_subset(&after), "what was due stays due");
        published.extend(after.difference(&before).cloned());
    }
    published.sort();
    (State::of(&known), published)
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
        let (in_order, out_of_order) = (arrive(&facts), arrive(&arrivals));
        prop_assert_eq!(&in_order, &out_of_order);
        let mut once = in_order.1.clone();
        once.dedup();
        prop_assert_eq!(once, in_order.1);
    }

    #[test]
    fn sums_that_do_not_say_what_was_new_end_in_the_same_state_too(totals in prop::collection::vec(1_i64..1000, 1..6)) {
        let without_amount = |total: &i64| Fact { amount: None, ..fact(FactKind::RefundedInAll, &total.to_string(), 0) };
        let facts: Vec<_> = totals.iter().map(without_amount).collect();
        let backwards: Vec<_> = facts.iter().rev().cloned().collect();
        prop_assert_eq!(arrive(&facts).0, arrive(&backwards).0);
        prop_assert_eq!(arrive(&facts).0.refunded, *totals.iter().max().unwrap());
    }
}

#[test]
fn the_states_of_a_payment() {
    use FactKind::*;
    let paid = fact(PaymentSucceeded, "", 1000);
    let status = |facts: &[Fact]| State::of(facts).status;
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
    let setup = State::of(&[fact(SetupSucceeded, "", 0)]);
    assert_eq!((setup.kind, setup.status, setup.amount), (Kind::Setup, Status::Succeeded, None));
}

#[test]
fn a_refund_told_twice_is_one_refund() {
    use FactKind::*;
    let facts = [fact(PaymentSucceeded, "", 1000), fact(RefundedInAll, "300", 300), fact(RefundProcessed, "a", 300)];
    let (state, published) = arrive(&facts);
    assert_eq!((state.refunded, published.len()), (300, 2));
    let (state, published) = arrive(&[fact(RefundedInAll, "300", 300), fact(RefundedInAll, "600", 300)]);
    assert_eq!((state.refunded, published.len()), (600, 2), "two refunds of one amount are two");
}
