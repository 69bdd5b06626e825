//! The fast path for location reports: `POST drivers/{uuid}/track`, and `POST drivers/track` for batches; likewise for vehicles
//! (`docs/specification/decisions.md`, section 9). Single positions that arrive at the same moment are recorded together.

use std::collections::{BTreeSet, HashMap, HashSet};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::companies::{CallingCompany, Scope};
use crate::fleet::Fleet;
use crate::fleet::location::{Heading, Latitude, Located, Longitude, Positions, queries};
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::ids::{CompanyId, TypedId};
use crate::kernel::json::JsonBody;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{Instant, Member, Record, RecordTransaction, Reference, Resource, Shown, WriteRequest};

/// The maximum number of positions in one request.
const MAX_POSITIONS: usize = 500;
/// Maximum number of single positions per transaction.
const MAX_SINGLES_PER_BATCH: usize = 64;

/// A position. Missing heading, speed and altitude keep their stored values.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "I: TypedId")]
pub(in crate::fleet) struct Position<I: TypedId> {
    /// The record that the position belongs to; required if the path does not name it. Each kind of position takes one of these two
    /// fields; the other is only read so that the error can name it.
    driver: Option<Reference<I>>,
    vehicle: Option<Reference<I>>,
    latitude: Latitude,
    longitude: Longitude,
    #[serde(default)]
    heading: Member<Option<Heading>>,
    #[serde(default)]
    speed: Member<Option<f64>>,
    #[serde(default)]
    altitude: Member<Option<f64>>,
    /// When the position was recorded. Defaults to now; an instant in the future counts as now.
    recorded_at: Option<Instant>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound = "I: TypedId")]
pub(in crate::fleet) struct ManyPositions<I: TypedId> {
    positions: Vec<Position<I>>,
}

/// The effect of a position on a record.
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
        let at = self.recorded_at.map_or(now, |at| DateTime::from(at).min(now));
        if record.located_at().is_some_and(|last| at < last) {
            return Effect::Nothing;
        }
        let before = (record.location(), record.located_at());
        let mut location = before.0;
        (location.latitude, location.longitude) = (Some(self.latitude.into()), Some(self.longitude.into()));
        self.heading.put_or_clear(&mut location.heading);
        self.speed.put_or_clear(&mut location.speed);
        self.altitude.put_or_clear(&mut location.altitude);
        record.put_location(location, Some(at));
        match before {
            (place, Some(last)) if place == location && last == at => Effect::Nothing,
            (place, _) if place == location => Effect::SamePlace,
            _ => Effect::AnotherPlace,
        }
    }
}

/// A position that was reported by itself.
#[derive(Clone, Copy, Debug)]
pub struct SinglePosition<I: TypedId> {
    company: CompanyId,
    id: I,
    position: Position<I>,
}

/// Records single positions in batches. Returns each record, or `None` if it does not exist.
pub type SinglePositions<R> = GroupCommit<SinglePosition<<R as Resource>::Id>, Option<Shown<R>>>;

/// Creates the group commit of single positions, over all companies.
pub(super) fn single_positions<R: Located>(fleet: &Fleet, lifecycle: &Lifecycle) -> SinglePositions<R> {
    let fleet = fleet.clone();
    GroupCommit::new(lifecycle.clone(), MAX_SINGLES_PER_BATCH, move |positions| {
        let fleet = fleet.clone();
        async move { record_singles(&fleet, &positions).await }
    })
}

/// Records the positions of each company in one transaction. Recording a position again changes nothing, so it does no harm if the
/// transaction of one company succeeds and that of another fails.
async fn record_singles<R: Located>(fleet: &Fleet, positions: &[SinglePosition<R::Id>]) -> Result<Vec<Option<Shown<R>>>, sqlx::Error> {
    let mut shown: Vec<_> = positions.iter().map(|_| None).collect();
    let companies: BTreeSet<_> = positions.iter().map(|single| single.company).collect();
    for company in companies {
        let of_company: Vec<_> = (0..).zip(positions).filter(|(_, single)| single.company == company).collect();
        let mut transaction = RecordTransaction::begin(fleet, company).await?;
        let moved = move_all::<R>(&mut transaction, of_company.iter().map(|(_, single)| (single.id, single.position)).collect()).await?;
        let (places, records): (Vec<usize>, Vec<_>) =
            of_company.iter().filter_map(|(place, single)| Some((*place, moved.get(&single.id)?.clone()))).unzip();
        let presented = transaction.present_all(records).await?;
        transaction.commit().await?;
        for (place, record) in places.into_iter().zip(presented) {
            shown[place] = Some(record);
        }
    }
    Ok(shown)
}

/// `POST <plural>/{uuid}/track`
pub(in crate::fleet) async fn track<R: Located>(
    State(positions): State<Positions>,
    WriteRequest { caller, id, .. }: WriteRequest<R>,
    JsonBody(position): JsonBody<Position<R::Id>>,
) -> Result<Response, Problem> {
    let named = position.record_id(R::SINGULAR).map_err(|member| not_known(member, member))?;
    if named.is_some_and(|named| named != id) {
        return Err(FieldErrors::one(R::SINGULAR, format!("The URL names another {}.", R::SINGULAR)));
    }
    let recorded = R::single_positions(&positions).write(SinglePosition { company: caller.company, id, position }).await?;
    Ok(recorded.ok_or(ProblemCode::RecordNotFound)?.answer(StatusCode::OK))
}

/// `POST <plural>/track`: applies all positions or none. If a record is named several times, each of its positions is applied in turn.
pub(in crate::fleet) async fn track_many<R: Located>(
    State(fleet): State<Fleet>,
    caller: CallingCompany,
    body: Result<JsonBody<ManyPositions<R::Id>>, Problem>,
) -> Result<Response, Problem> {
    caller.require_scope(Scope::Write)?;
    let JsonBody(ManyPositions { positions }) = body?;
    if positions.len() > MAX_POSITIONS {
        return Err(FieldErrors::one("positions", format!("At most {MAX_POSITIONS} positions are allowed.")));
    }
    let missing = |index| FieldErrors::one(&format!("positions[{index}].{}", R::SINGULAR), format!("There is no such {}.", R::SINGULAR));
    let mut named = Vec::with_capacity(positions.len());
    for (index, position) in positions.into_iter().enumerate() {
        let id = position.record_id(R::SINGULAR).map_err(|member| not_known(&format!("positions[{index}].{member}"), member))?;
        named.push((id.ok_or_else(|| missing(index))?, position));
    }
    let mut transaction = RecordTransaction::begin(&fleet, caller.company).await?;
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
async fn move_all<R: Located>(
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
