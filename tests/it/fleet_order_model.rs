//! Any sequence of operations on an order leaves it in a legal state and is told by exactly the events its changes mean: decisions,
//! section 9. What happens is compared with a model of a few lines.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;

/// Something that is asked of an order.
#[derive(Clone, Debug)]
enum Operation {
    Go(&'static str),
    /// To one of the drivers, or to nobody.
    Assign(Option<usize>),
    SkipDispatch(bool),
    Note(u8),
    /// A driver and a status at once.
    AssignAndGo(usize, &'static str),
}

const STATUSES: [&str; 6] = ["created", "dispatched", "started", "completed", "cancelled", "failed"];

fn operation() -> impl Strategy<Value = Operation> {
    // The way to the end is long: what leads there is tried more often.
    let forward = prop::sample::select(vec!["dispatched", "started", "completed"]);
    let status = || prop_oneof![4 => forward.clone(), 1 => prop::sample::select(STATUSES.to_vec())];
    prop_oneof![
        5 => status().prop_map(Operation::Go),
        2 => prop::option::of(0..2_usize).prop_map(Operation::Assign),
        1 => any::<bool>().prop_map(Operation::SkipDispatch),
        1 => (0..3_u8).prop_map(Operation::Note),
        1 => (0..2_usize, status()).prop_map(|(driver, status)| Operation::AssignAndGo(driver, status)),
    ]
}

/// What is expected of an order.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    status: &'static str,
    driver: Option<usize>,
    skip_dispatch: bool,
    note: Option<u8>,
    was_dispatched: bool,
}

impl Model {
    fn new() -> Self {
        Self { status: "created", driver: None, skip_dispatch: false, note: None, was_dispatched: false }
    }

    fn is_open(&self) -> bool {
        matches!(self.status, "created" | "dispatched" | "started")
    }

    /// What the order becomes, and the events that tell of it; nothing when it is refused.
    fn after(&self, operation: &Operation) -> Option<(Self, Vec<&'static str>)> {
        let mut after = self.clone();
        let go_to = match operation {
            Operation::Go(status) => Some(*status),
            Operation::Assign(driver) => {
                after.driver = *driver;
                None
            }
            Operation::SkipDispatch(skip) => {
                after.skip_dispatch = *skip;
                None
            }
            Operation::Note(note) => {
                after.note = Some(*note);
                None
            }
            Operation::AssignAndGo(driver, status) => {
                after.driver = Some(*driver);
                Some(*status)
            }
        };
        let another_driver = after.driver != self.driver;
        if another_driver && (!self.is_open() || (after.driver.is_none() && self.was_dispatched)) {
            return None;
        }
        if let Some(next) = go_to.filter(|next| *next != self.status) {
            let allowed = match (self.status, next) {
                ("created", "dispatched") => after.driver.is_some(),
                ("created", "started") => after.skip_dispatch,
                ("dispatched", "started") | ("started", "completed") => true,
                (_, "cancelled" | "failed") => self.is_open(),
                _ => false,
            };
            if !allowed {
                return None;
            }
            after.status = next;
            after.was_dispatched |= next == "dispatched";
        }
        if after == *self {
            return Some((after, vec![]));
        }
        let mut events = vec!["order.updated"];
        if after.status != self.status {
            events.push("tracking_status.created");
            events.push(match after.status {
                "dispatched" => "order.dispatched",
                "started" => "order.started",
                "completed" => "order.completed",
                "cancelled" => "order.cancelled",
                _ => "order.failed",
            });
        }
        if another_driver && after.driver.is_some() {
            events.extend(["driver.assigned", "order.driver_assigned"]);
        }
        events.sort_unstable();
        Some((after, events))
    }
}

impl Operation {
    fn body(&self, drivers: &[Value]) -> Value {
        match self {
            Self::Go(status) => json!({ "status": status }),
            Self::Assign(driver) => json!({ "driver": driver.map(|driver| id(&drivers[driver])) }),
            Self::SkipDispatch(skip) => json!({ "skip_dispatch": skip }),
            Self::Note(note) => json!({ "notes": format!("Note {note}") }),
            Self::AssignAndGo(driver, status) => json!({ "driver": id(&drivers[*driver]), "status": status }),
        }
    }
}

#[tokio::test]
async fn any_sequence_of_operations_is_legal_and_told() {
    let world = World::new().await;
    let drivers = [world.driver("Ada").await, world.driver("Bob").await];
    let (mut runner, sequences) = (TestRunner::deterministic(), vec(operation(), 1..25));
    let (mut refused, mut statuses) = (0, std::collections::HashSet::new());
    for _ in 0..40 {
        let sequence = sequences.new_tree(&mut runner).unwrap().current();
        let order = world.order(json!({})).await;
        let mut model = Model::new();
        for (step, operation) in sequence.iter().enumerate() {
            let put = world.fleet(Method::PUT, &format!("orders/{}", id(&order))).json(&operation.body(&drivers)).send();
            let (answer, events) = world.published(put).await;
            let told: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
            let Some((after, expected)) = model.after(operation) else {
                assert_eq!((answer.status, told.len()), (422, 0), "step {step} of {sequence:?}");
                refused += 1;
                continue;
            };
            let shown = answer.ok(200)["order"].take();
            assert_eq!(told, expected, "step {step} of {sequence:?}");
            assert_eq!(shown["status"], after.status, "step {step} of {sequence:?}");
            assert_eq!(
                shown["driver_assigned"]["id"].as_str(),
                after.driver.map(|driver| id(&drivers[driver])),
                "step {step} of {sequence:?}"
            );
            statuses.insert(after.status);
            model = after;
        }
    }
    // The sequences are worth something: all that can happen happened, and what cannot was tried.
    assert_eq!(statuses.len(), STATUSES.len());
    assert!(refused > 50, "{refused}");
}
