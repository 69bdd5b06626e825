//! Any sequence of operations on an order leaves it in a legal state and publishes exactly the matching events: decisions, section
//! 9. The service is compared with a small model.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::chance::chance;
use crate::support::fleet::id;
use crate::support::request::Request;

/// An operation on an order.
#[derive(Clone, Debug)]
enum Operation {
    Go(&'static str),
    /// Assigns one of the drivers, or none.
    Assign(Option<usize>),
    SkipDispatch(bool),
    Note(u8),
    /// Assigns a driver and sets a status at once.
    AssignAndGo(usize, &'static str),
    /// Assigns the vehicle, or none.
    Carry(bool),
    /// Changes the pickup place.
    Fetch(u8),
    /// Changes the tracking number.
    Renumber(u8),
}

const STATUSES: [&str; 6] = ["created", "dispatched", "started", "completed", "cancelled", "failed"];

fn operation() -> impl Strategy<Value = Operation> {
    // The path to the final status is long, so operations along it are tried more often.
    let forward = prop::sample::select(vec!["dispatched", "started", "completed"]);
    let status = || prop_oneof![4 => forward.clone(), 1 => prop::sample::select(STATUSES.to_vec())];
    prop_oneof![
        5 => status().prop_map(Operation::Go),
        2 => prop::option::of(0..2_usize).prop_map(Operation::Assign),
        1 => any::<bool>().prop_map(Operation::SkipDispatch),
        1 => (0..3_u8).prop_map(Operation::Note),
        1 => (0..2_usize, status()).prop_map(|(driver, status)| Operation::AssignAndGo(driver, status)),
        1 => any::<bool>().prop_map(Operation::Carry),
        1 => (0..3_u8).prop_map(Operation::Fetch),
        1 => (0..3_u8).prop_map(Operation::Renumber),
    ]
}

/// The expected state of an order.
#[derive(Clone, Debug, PartialEq)]
struct Model {
    status: &'static str,
    driver: Option<usize>,
    skip_dispatch: bool,
    note: Option<u8>,
    is_carried: bool,
    place: Option<u8>,
    number: Option<u8>,
    /// Every status of the order, oldest first.
    track: Vec<&'static str>,
}

impl Model {
    fn new() -> Self {
        let track = vec!["created"];
        Self { status: "created", driver: None, skip_dispatch: false, note: None, is_carried: false, place: None, number: None, track }
    }

    fn was_dispatched(&self) -> bool {
        self.track.contains(&"dispatched")
    }

    fn is_open(&self) -> bool {
        matches!(self.status, "created" | "dispatched" | "started")
    }

    /// The order after the operation, and the published events; `None` if the operation is refused.
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
            Operation::Carry(is_carried) => {
                after.is_carried = *is_carried;
                None
            }
            Operation::Fetch(place) => {
                after.place = Some(*place);
                None
            }
            Operation::Renumber(number) => {
                after.number = Some(*number);
                None
            }
        };
        let another_driver = after.driver != self.driver;
        if another_driver && (!self.is_open() || (after.driver.is_none() && self.was_dispatched())) {
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
            after.track.push(next);
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
        if after.number != self.number {
            events.push("tracking_number.updated");
        }
        events.sort_unstable();
        Some((after, events))
    }
}

/// An order, and the requests about it.
struct Story<'a> {
    world: &'a World,
    drivers: &'a [Value],
    vehicle: &'a Value,
    order: Value,
    number: Value,
}

impl<'a> Story<'a> {
    async fn begin(world: &'a World, drivers: &'a [Value], vehicle: &'a Value) -> Self {
        let order = world.order(json!({})).await;
        let number = world.fleet_list(&format!("tracking-numbers?order={}", id(&order))).await["tracking_numbers"][0].take();
        Self { world, drivers, vehicle, order, number }
    }

    fn ask(&self, operation: &Operation) -> Request {
        let body = match operation {
            Operation::Renumber(number) => {
                let path = format!("tracking-numbers/{}", id(&self.number));
                return self.world.fleet(Method::PUT, &path).json(&json!({ "tracking_number": self.carriers(*number) }));
            }
            Operation::Go(status) => json!({ "status": status }),
            Operation::Assign(driver) => json!({ "driver": driver.map(|driver| id(&self.drivers[driver])) }),
            Operation::SkipDispatch(skip) => json!({ "skip_dispatch": skip }),
            Operation::Note(note) => json!({ "notes": format!("Note {note}") }),
            Operation::AssignAndGo(driver, status) => json!({ "driver": id(&self.drivers[*driver]), "status": status }),
            Operation::Carry(is_carried) => json!({ "vehicle": is_carried.then(|| id(self.vehicle)) }),
            Operation::Fetch(place) => json!({ "payload": { "pickup": format!("Lane {place}") } }),
        };
        self.world.fleet(Method::PUT, &format!("orders/{}", id(&self.order))).json(&body)
    }

    /// A carrier's number that is unique to this order.
    fn carriers(&self, number: u8) -> String {
        format!("{}-{number}", id(&self.order)).to_uppercase()
    }

    /// Asserts that the order and its track match the model.
    async fn is_as(&self, model: &Model) {
        let order = &self.world.fleet(Method::GET, &format!("orders/{}", id(&self.order))).send().await.ok(200)["order"];
        assert_eq!(order["status"], model.status);
        assert_eq!(order["driver_assigned"]["id"].as_str(), model.driver.map(|driver| id(&self.drivers[driver])));
        assert_eq!(order["vehicle"].as_str(), model.is_carried.then(|| id(self.vehicle)));
        assert_eq!(order["skip_dispatch"], model.skip_dispatch);
        assert_eq!(order["notes"].as_str(), model.note.map(|note| format!("Note {note}")).as_deref());
        assert_eq!(order["payload"]["pickup"].as_str(), model.place.map(|place| format!("Lane {place}")).as_deref());
        let number =
            model.number.map_or_else(|| self.order["tracking_number"].as_str().unwrap().to_owned(), |number| self.carriers(number));
        assert_eq!(order["tracking_number"], number);
        let path = format!("tracking-statuses?order={}&sort=created_at", id(&self.order));
        let track = self.world.fleet_list(&path).await;
        let track: Vec<_> =
            track["tracking_statuses"].as_array().unwrap().iter().map(|status| status["status"].as_str().unwrap()).collect();
        assert_eq!(track, model.track);
        let path = format!("tracking-numbers/{}", id(&self.number));
        assert_eq!(self.world.fleet(Method::GET, &path).send().await.ok(200)["tracking_number"]["tracking_number"], number);
    }

    /// Deletes the order, and asserts that only its track remains and that no further operation is accepted.
    async fn is_deleted(&self) {
        let path = format!("orders/{}", id(&self.order));
        assert_eq!(self.world.published_names(self.world.fleet(Method::DELETE, &path).send()).await, ["order.deleted"]);
        self.ask(&Operation::Go("cancelled")).send().await.refused(404, "record_not_found");
        self.ask(&Operation::Renumber(7)).send().await.refused(422, "body_invalid");
    }
}

#[tokio::test]
async fn any_sequence_of_operations_is_legal_and_published() {
    let world = World::new().await;
    let (drivers, vehicle) = ([world.driver("Ada").await, world.driver("Bob").await], world.vehicle("Truck 7").await);
    let (mut runner, sequences) = (chance(), vec(operation(), 1..25));
    let (mut refused, mut statuses) = (0, std::collections::HashSet::new());
    for _ in 0..100 {
        let sequence = sequences.new_tree(&mut runner).unwrap().current();
        let story = Story::begin(&world, &drivers, &vehicle).await;
        let mut model = Model::new();
        for (step, operation) in sequence.iter().enumerate() {
            let (answer, events) = world.published(story.ask(operation).send()).await;
            let published: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
            let Some((after, expected)) = model.after(operation) else {
                assert_eq!((answer.status, published.len()), (422, 0), "step {step} of {sequence:?}");
                refused += 1;
                continue;
            };
            answer.ok(200);
            assert_eq!(published, expected, "step {step} of {sequence:?}");
            statuses.insert(after.status);
            model = after;
        }
        story.is_as(&model).await;
        story.is_deleted().await;
    }
    // The sequences cover everything: every status was reached, and illegal operations were tried.
    assert_eq!(statuses.len(), STATUSES.len());
    assert!(refused > 50, "{refused}");
}
