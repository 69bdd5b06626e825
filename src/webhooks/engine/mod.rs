//! The engine: the tables of deliveries, and every statement that moves a delivery between them.
//!
//! # Where a delivery is
//!
//! A delivery is in exactly one of three tables at any time; the view `delivery_log` combines them. `waiting` and `in_flight` are small
//! and hot. `deliveries` is written once per delivery and partitioned by day, so a log of any length slows nothing down.
//!
//! ```text
//!    ┌────────1 fan-out, when nothing has to wait────────┐
//!    │                                                   ▼
//! outbox ──fan-out──▶ waiting ──2 claim, 3 refill──▶ in_flight ──record──▶ deliveries   delivered, failed, cancelled
//!                     ▲  ▲  │                            │                  ▲  │
//!         4 triggers ─┘  ├──┼─ retry, reclaim, give back ┘                  │  │
//!                        │  └─────────── cancel ────────────────────────────┘  │
//!                        └────────────── repeat ───────────────────────────────┘
//! ```
//!
//! Four doors lead into flight, three of them statements and one a trigger that opens the way to them:
//!
//! | door | takes | when |
//! |---|---|---|
//! | 1 [`fan_out`] | events out of `outbox`, or one that is being published and need not go there, to `in_flight`, or to `waiting` what has to wait | The endpoint has capacity, is not paused and has not asked for silence, no first attempt waits for it, its circuit is closed, and its subscription has neither ordering nor a rate limit. Most events take this short path. |
//! | 2 [`claim`] | due deliveries of one lane out of `waiting` | The endpoint has capacity, its rate limit, circuit and silence admit it, it is not paused, and its deliveries are not being cancelled. |
//! | 3 [`record`], with [`refill`] | as many first attempts of the same endpoints as it has just taken out of flight; twice as many for one that answers quickly | The endpoint has a backlog, is not paused and has not asked for silence, no attempt of the batch failed, and nothing else waits for its permits. |
//! | 4 the triggers `joins_a_chain` and `leaves_a_chain` | the next delivery of a chain, from lane 2 of `waiting` into a lane that door 2 claims from | The one before has ended, in whatever way: none of its chain is in flight or in a lane. |
//!
//! What waits behind an open circuit is [`held`] outside of the lanes until the circuit is half-open, and what waits for an endpoint that has asked
//! for silence until that ends.
//!
//! The other ways: [`record`] closes a delivery or queues its retry; [`claim`] also takes deliveries back from [`workers`] that died;
//! [`give_back`] returns what was claimed and not sent; [`cancel`] closes what waits and marks what is in flight; [`repeat`] makes new deliveries from closed ones, and [`enqueue`] one of a
//! test event.
//!
//! # How moves stay apart
//!
//! Every statement that moves deliveries of an endpoint locks the row of the endpoint first, and the rows of several endpoints in the
//! order of their ids. Two moves of one delivery therefore never overlap, and no deadlock occurs. A statement that also reads
//! subscriptions locks them before their endpoints. The waiting deliveries that are cancelled together with their endpoint are closed
//! without this lock: they can no longer be claimed. The statement that publishes and fans out takes these locks in any order, but waits for none.
//!
//! Deliveries of a chain have to be made in order. At most one of them is in a lane or in flight; the others wait behind it, outside
//! the lanes. The triggers run at the end of a statement that queues, claims, records or cancels, where they see what other
//! transactions did before this one had the lock.
//!
//! Two moves also keep the counts that charts are made of ([`figures`]): [`record`] those of an endpoint, whose row it has
//! locked, and [`fan_out`] those of a company, for which one statement runs at a time. So these rows are hardly ever waited for: only until an
//! event is committed that was fanned out while it was published.
//!
//! Three statements return the deliveries that they put into flight as a [`ClaimedRow`](claim::ClaimedRow), in one row each and with the
//! summary of the statement in all rows, because each is one round trip on the connection that limits the throughput.

pub mod attempts;
pub mod backlog;
pub mod cancel;
pub mod claim;
pub mod endpoints;
pub mod enqueue;
pub mod fan_out;
pub mod figures;
pub mod give_back;
pub mod held;
pub mod record;
pub mod refill;
pub mod repeat;
pub mod retention;
pub mod traced;
pub mod vacuum;
pub mod whereabouts;
pub mod workers;
