//! The fast path for location reports: `POST drivers/{uuid}/track`, and `POST drivers/track` for batches; likewise for vehicles
//! (`docs/specification/decisions.md`, section 9).
//!
//! It accepts batches, and single positions that arrive at the same moment become one ([`Positions`]). It writes only the location
//! columns and their instant, in one statement for all records, and publishes the events in a second statement.
//!
//! A position has the instant at which it was recorded. A position older than the last one is ignored: it arrived late and says
//! nothing about the current location.
//!
//! Positions are read more leniently than other bodies: a number below zero is unknown, and members without a field here (`activity`, `battery`) are
//! ignored. Apps in the field cannot be changed, and one of their positions must not hold up the others of a request.

mod queries;
mod reported_at;
mod single;

use std::collections::{HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::companies::Admission;
use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::drivers::{self, Driver};
use crate::fleet::location::{Heading, Latitude, Located, Longitude, Speed};
use crate::fleet::positions::reported_at::ReportedAt;
use crate::fleet::positions::single::{SinglePosition, SinglePositions};
use crate::fleet::vehicles::{self, Vehicle};
use crate::kernel::ids::TypedId;
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{OperationDoc, closed_object, object, open_object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::resources::{FieldType, Instant, Member, PublishesEvents, Record, RecordTransaction, Reference, WriteRequest, no_such};

pub use single::Positions;

/// The maximum number of positions in one request.
const MAX_POSITIONS: usize = 500;

/// What differs from other bodies, for the documentation.
const AS_PHONES_SEND_IT: &str =
    "A `heading` or `speed` below zero is unknown. Fields that are not listed, such as `activity`, `is_moving` and `battery`, are ignored.";

/// A record whose location is reported.
pub trait Reported: Located + PublishesEvents<State = Fleet> {
    const LOCATION_CHANGED: EventName;

    /// Where single positions of these records are recorded.
    fn single_positions(positions: &Positions) -> &SinglePositions<Self>;
}

impl Reported for Driver {
    const LOCATION_CHANGED: EventName = drivers::LOCATION_CHANGED;

    fn single_positions(positions: &Positions) -> &SinglePositions<Self> {
        &positions.drivers
    }
}

impl Reported for Vehicle {
    const LOCATION_CHANGED: EventName = vehicles::LOCATION_CHANGED;

    fn single_positions(positions: &Positions) -> &SinglePositions<Self> {
        &positions.vehicles
    }
}

/// A position. Missing heading, speed and altitude keep their stored values.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(bound = "I: TypedId")]
pub struct Position<I: TypedId> {
    /// The record that the position belongs to; required if the path does not name it. Each kind of position takes one of these two
    /// fields; the other is only read so that the error can name it.
    driver: Option<Reference<I>>,
    vehicle: Option<Reference<I>>,
    latitude: Latitude,
    longitude: Longitude,
    #[serde(default)]
    heading: Member<Heading>,
    #[serde(default)]
    speed: Member<Speed>,
    #[serde(default)]
    altitude: Member<Option<f64>>,
    /// When the position was recorded. Defaults to now; an instant in the future counts as now.
    recorded_at: Option<Instant>,
    /// The same, as apps call it.
    timestamp: Option<ReportedAt>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "I: TypedId")]
pub struct ManyPositions<I: TypedId> {
    positions: Vec<Position<I>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The position is late or a duplicate.
    Nothing,
    /// The record is still at the same location.
    SamePlace,
    /// The record has moved.
    AnotherPlace,
}

impl<I: TypedId> Position<I> {
    /// The JSON Schema of a position whose record is named by the field `singular`, of the schema `record`.
    fn schema((singular, record): (&str, Value), required: &[&str]) -> Value {
        let members = [
            (singular, record),
            ("latitude", Latitude::schema()),
            ("longitude", Longitude::schema()),
            ("heading", Heading::schema()),
            ("speed", Speed::schema()),
            ("altitude", Option::<f64>::schema()),
            ("recorded_at", Option::<Instant>::schema()),
            ("timestamp", ReportedAt::schema()),
        ];
        open_object(required, members)
    }

    /// The id of the record, if present; an error with the field's name if the field belongs to the other kind of position.
    fn record_id(&self, singular: &str) -> Result<Option<I>, &'static str> {
        let ids = [("driver", self.driver), ("vehicle", self.vehicle)];
        match ids.iter().find(|(name, id)| *name != singular && id.is_some()) {
            Some((name, _)) => Err(name),
            None => Ok(self.driver.or(self.vehicle).map(|Reference(id)| id)),
        }
    }

    /// Applies the position to the record, unless a later one has been applied.
    fn apply_to<R: Located>(self, record: &mut R, now: DateTime<Utc>) -> Effect {
        let recorded_at = self.recorded_at.or(self.timestamp.map(Instant::from));
        let at = recorded_at.map_or(now, |at| DateTime::from(at).min(now));
        if record.located_at().is_some_and(|last| at < last) {
            return Effect::Nothing;
        }
        let before = (record.location(), record.located_at());
        let mut location = before.0;
        (location.latitude, location.longitude) = (Some(self.latitude.into()), Some(self.longitude.into()));
        self.heading.put(&mut location.heading);
        self.speed.put(&mut location.speed);
        self.altitude.put_or_clear(&mut location.altitude);
        record.put_location(location, Some(at));
        match before {
            (place, Some(last)) if place == location && last == at => Effect::Nothing,
            (place, _) if place == location => Effect::SamePlace,
            _ => Effect::AnotherPlace,
        }
    }
}

pub fn track_doc<R: Reported>() -> OperationDoc {
    OperationDoc::new("Record the location of a driver or vehicle.")
        .explained(AS_PHONES_SEND_IT.to_owned())
        .taking_body(Position::<R::Id>::schema((R::SINGULAR, Option::<Reference<R::Id>>::schema()), &["latitude", "longitude"]))
        .showing(StatusCode::OK, R::SINGULAR)
}

pub fn track_many_doc<R: Reported>() -> OperationDoc {
    let position = Position::<R::Id>::schema((R::SINGULAR, Reference::<R::Id>::schema()), &[R::SINGULAR, "latitude", "longitude"]);
    let positions = json!({ "type": "array", "maxItems": MAX_POSITIONS, "items": position });
    OperationDoc::new("Record the locations of several drivers or vehicles.")
        .explained(AS_PHONES_SEND_IT.to_owned())
        .taking_body(closed_object(&["positions"], [("positions", positions)]))
        .answering(StatusCode::OK, object([("status", json!({ "const": "ok" }))]))
}

/// `POST <plural>/{uuid}/track`
pub async fn track<R: Reported>(
    State(positions): State<Positions>,
    WriteRequest { caller, id, .. }: WriteRequest<R>,
    admission: Admission,
    JsonBody(position): JsonBody<Position<R::Id>>,
) -> Result<Response, Problem> {
    let named = position.record_id(R::SINGULAR).map_err(|member| not_known(member, member))?;
    if named.is_some_and(|named| named != id) {
        return Err(FieldErrors::one(R::SINGULAR, format!("The URL names another {}.", R::SINGULAR)));
    }
    let single = SinglePosition { company: caller.company, id, position };
    admission.leave_line();
    let recorded = R::single_positions(&positions).write(single, size_of_val(&single)).await?;
    Ok(recorded.ok_or(ProblemCode::RecordNotFound)?.answer(StatusCode::OK))
}

/// `POST <plural>/track`: applies all positions or none. If a record is named several times, each of its positions is applied in turn.
pub async fn track_many<R: Reported>(
    State(fleet): State<Fleet>,
    caller: Caller,
    body: Unread<JsonBody<ManyPositions<R::Id>>>,
) -> Result<Response, Problem> {
    caller.require(Area::Business, Scope::Write)?;
    let JsonBody(ManyPositions { positions }) = body.read().await?;
    if positions.len() > MAX_POSITIONS {
        return Err(FieldErrors::one("positions", format!("At most {MAX_POSITIONS} positions are allowed.")));
    }
    let missing = |index| FieldErrors::one(&format!("positions[{index}].{}", R::SINGULAR), no_such(R::SINGULAR));
    let mut named = Vec::with_capacity(positions.len());
    for (index, position) in positions.into_iter().enumerate() {
        let id = position.record_id(R::SINGULAR).map_err(|member| not_known(&format!("positions[{index}].{member}"), member))?;
        named.push((id.ok_or_else(|| missing(index))?, position));
    }
    let mut transaction = RecordTransaction::begin(&fleet, &caller).await?;
    let ids: Vec<_> = named.iter().map(|(id, _)| *id).collect();
    let moved = move_all::<R>(&mut transaction, named).await?;
    if let Some(index) = ids.iter().position(|id| !moved.contains_key(id)) {
        return Err(missing(index));
    }
    transaction.commit().await?;
    Ok(axum::Json(json!({ "status": "ok" })).into_response())
}

fn not_known(field: &str, member: &str) -> Problem {
    FieldErrors::one(field, format!("{member} is not a known field."))
}

/// Applies the positions in order, each to its record, writes the result and returns the records that exist.
async fn move_all<R: Reported>(
    transaction: &mut RecordTransaction<Fleet>,
    positions: Vec<(R::Id, Position<R::Id>)>,
) -> Result<HashMap<R::Id, Record<R>>, sqlx::Error> {
    let ids: Vec<_> = positions.iter().map(|(id, _)| *id).collect();
    let locked = transaction.lock_all::<R>(&ids).await?;
    let mut records: HashMap<_, _> = locked.into_iter().map(|record| (record.id, record)).collect();
    let (mut updated, mut steps) = (HashSet::new(), Vec::new());
    for (id, position) in positions {
        let Some(record) = records.get_mut(&id) else { continue };
        let effect = position.apply_to(&mut record.fields, transaction.now);
        if effect == Effect::Nothing {
            continue;
        }
        updated.insert(record.id);
        (record.version, record.updated_at) = (record.version + 1, transaction.now);
        if effect == Effect::AnotherPlace {
            steps.push(record.clone());
        }
    }
    let updated: Vec<_> = updated.iter().filter_map(|id| records.get(id)).collect();
    queries::write_locations(transaction.conn(), &updated).await?;
    transaction.announce_all(steps, &R::LOCATION_CHANGED).await?;
    Ok(records)
}
