//! For an endpoint that answers quickly more deliveries are claimed than it may have at once, so that it never waits for the database. It
//! never has more at once because of that, and what is not sent goes back to where it came from.

use std::iter::repeat_n;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::World;
use crate::support::receiver::{Receiver, Reply};
use crate::support::waiting::until;

/// As many may be in flight to the endpoint at once.
const AT_ONCE: usize = 3;
/// The deliveries that are answered at once, so that the endpoint counts as quick.
const QUICK: usize = 30;
const BACKLOG: usize = 60;

/// A running worker, a backlog of an endpoint, and what it answers after it was quick.
async fn quick_at_first(then: impl IntoIterator<Item = Reply>) -> (World, Receiver) {
    let world = World::with(&[
        ("webhooks.concurrency", "100"),
        ("webhooks.endpoint_concurrency", "3"),
        ("webhooks.quick_attempt", "1h"),
        ("webhooks.circuit.opens_after", "3"),
    ])
    .await;
    let receiver = world.endpoint("quick.test").await;
    // What is answered when the story says so must not time out before.
    world.subscribe(&receiver, json!({ "events": ["order.created"], "timeout": 30 })).await;
    receiver.will(repeat_n(Reply::status(200), QUICK).chain(then));
    world.make_deliveries(BACKLOG).await;
    world.state.webhooks.start_worker(&world.lifecycle);
    (world, receiver)
}

/// Waits until the endpoint has as many as it may have, and more are in flight.
async fn until_some_stand_in_line(world: &World, receiver: &Receiver) {
    receiver.waits_for(QUICK + AT_ONCE).await;
    until("more are in flight than it has", async || world.count("select count(*) from in_flight").await > 3).await;
    assert_eq!(receiver.count(), QUICK + AT_ONCE);
}

#[tokio::test]
async fn what_is_claimed_ahead_is_sent_when_others_have_ended_and_never_more_at_once() {
    let tokens: Vec<_> = (QUICK..BACKLOG).map(|_| CancellationToken::new()).collect();
    let (world, receiver) = quick_at_first(tokens.iter().cloned().map(Reply::When)).await;
    until_some_stand_in_line(&world, &receiver).await;
    for (ended, token) in tokens.iter().enumerate() {
        receiver.waits_for(BACKLOG.min(QUICK + ended + AT_ONCE)).await;
        assert_eq!(receiver.count(), BACKLOG.min(QUICK + ended + AT_ONCE), "one more for each that has ended");
        token.cancel();
    }
    until("all is recorded", async || world.count("select count(*) from in_flight").await == 0).await;
    assert_eq!(world.count("select count(*) from deliveries where state = 'delivered' and attempts = 1").await, BACKLOG as i64);
    assert_eq!(world.count("select count(*) from attempts").await, BACKLOG as i64);
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 0);
}

#[tokio::test]
async fn what_waits_for_an_endpoint_that_is_no_longer_quick_goes_back_and_is_pending_as_before() {
    let answers = CancellationToken::new();
    let (world, receiver) = quick_at_first(repeat_n(Reply::When(answers.clone()), AT_ONCE)).await;
    until_some_stand_in_line(&world, &receiver).await;
    until("they are back", async || world.count("select count(*) from in_flight").await == 3).await;
    assert_eq!(world.count("select sum(in_flight) from endpoints").await, 3);
    assert_eq!(world.count("select count(*) from waiting where lane = 0 and attempts = 0").await, (BACKLOG - QUICK - AT_ONCE) as i64);
    answers.cancel();
    receiver.waits_for(BACKLOG).await;
    until("all is recorded", async || world.count("select count(*) from deliveries").await == BACKLOG as i64).await;
    assert_eq!(world.count("select count(*) from attempts where number = 1").await, BACKLOG as i64, "each is sent once");
}

#[tokio::test]
async fn what_waits_for_an_endpoint_that_fails_goes_back_and_waits_for_its_circuit() {
    let (world, receiver) = quick_at_first(repeat_n(Reply::status(500), BACKLOG)).await;
    let open = "select count(*) from endpoints where open_until is not null and in_flight = 0";
    until("its circuit is open, and nothing is in flight", async || world.count(open).await == 1).await;
    assert!(receiver.count() < QUICK + 3 * AT_ONCE, "no more fail than were begun before the circuit opened: {}", receiver.count());
    assert_eq!(world.count("select count(*) from in_flight").await, 0);
    let untried = world.count("select count(*) from waiting where attempts = 0").await;
    assert_eq!(untried as usize, BACKLOG - receiver.count(), "what was not sent is as it was");
}

#[tokio::test]
async fn what_waits_when_the_program_ends_goes_back_and_another_instance_sends_it() {
    let answers = CancellationToken::new();
    let (world, receiver) = quick_at_first(repeat_n(Reply::When(answers.clone()), AT_ONCE)).await;
    until_some_stand_in_line(&world, &receiver).await;
    let last_answers = async {
        until("they are back", async || world.count("select count(*) from in_flight").await == 3).await;
        answers.cancel();
    };
    tokio::join!(world.lifecycle.stop(), last_answers);
    assert_eq!(receiver.count(), QUICK + AT_ONCE);
    let there = world.another_instance();
    until("the rest is delivered", async || there.deliver().await == 0 && receiver.count() == BACKLOG).await;
    assert_eq!(world.count("select count(*) from attempts where number = 1 and error is null").await, BACKLOG as i64);
}

#[tokio::test]
async fn instances_that_claim_ahead_keep_to_the_limit_together() {
    let tokens: Vec<_> = (QUICK..BACKLOG).map(|_| CancellationToken::new()).collect();
    let (world, receiver) = quick_at_first(tokens.iter().cloned().map(Reply::When)).await;
    let there = world.another_instance();
    there.state.webhooks.start_worker(&there.lifecycle);
    until_some_stand_in_line(&world, &receiver).await;
    for (ended, token) in tokens.iter().enumerate() {
        receiver.waits_for(BACKLOG.min(QUICK + ended + 1)).await;
        assert!(receiver.count() <= QUICK + ended + AT_ONCE, "with {ended} ended there are {}", receiver.count());
        token.cancel();
    }
    until("all is recorded", async || world.count("select count(*) from in_flight").await == 0).await;
    assert_eq!(world.count("select count(*) from attempts").await, BACKLOG as i64, "each is sent once");
}
