//! The quick way to say where drivers are: `POST drivers/{uuid}/track`, and `POST drivers/track` for many at once (decisions, section 9).

use std::collections::HashMap;

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::companies::{CallingCompany, Companies, Scope};
use crate::fleet::Fleet;
use crate::fleet::drivers::body::{Heading, Latitude, Longitude};
use crate::fleet::drivers::{Driver, Location};
use crate::kernel::ids::DriverId;
use crate::kernel::json::Json;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Edit, Member, PathId, Reference};

/// Positions taken at once.
const MAX_POSITIONS: usize = 500;

/// The routes beside the five.
pub fn routes<S>() -> Router<S>
where
    Fleet: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new().route("/drivers/{uuid}/track", post(track)).route("/drivers/track", post(track_many))
}

/// Where a driver is. What is not said of the movement stays as it was.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Position {
    /// Needed where the path names no driver.
    driver: Option<Reference<DriverId>>,
    latitude: Latitude,
    longitude: Longitude,
    #[serde(default)]
    heading: Member<Option<Heading>>,
    #[serde(default)]
    speed: Member<Option<f64>>,
    #[serde(default)]
    altitude: Member<Option<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Positions {
    positions: Vec<Position>,
}

impl Position {
    fn of(self, driver: &Driver, now: DateTime<Utc>) -> Driver {
        let mut location = Location { latitude: Some(self.latitude.into()), longitude: Some(self.longitude.into()), ..driver.location() };
        self.heading.put_or_clear(&mut location.heading);
        self.speed.put_or_clear(&mut location.speed);
        self.altitude.put_or_clear(&mut location.altitude);
        let mut moved = driver.clone();
        moved.move_to(location, now);
        moved
    }
}

async fn track(
    State(fleet): State<Fleet>,
    caller: CallingCompany,
    PathId(id): PathId<DriverId>,
    body: Result<Json<Position>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let Json(position) = body?;
    if position.driver.is_some_and(|Reference(named)| named != id) {
        return Err(FieldErrors::one("driver", "The address names another driver."));
    }
    let mut edit = Edit::begin(&fleet, caller.company).await?;
    let before = edit.lock::<Driver>(id).await?;
    let moved = position.of(&before.fields, edit.now);
    let shown = edit.update(before, moved).await?;
    edit.commit().await?;
    Ok(shown.answer(StatusCode::OK))
}

/// All of them or none. A driver who is named twice is at the later place in the end, and was at the earlier one.
async fn track_many(
    State(fleet): State<Fleet>,
    caller: CallingCompany,
    body: Result<Json<Positions>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let Json(body) = body?;
    if body.positions.len() > MAX_POSITIONS {
        return Err(FieldErrors::one("positions", format!("There may be {MAX_POSITIONS} positions at most.")));
    }
    let ids: Vec<_> = body.positions.iter().filter_map(|position| position.driver).map(|Reference(id)| id).collect();
    let mut edit = Edit::begin(&fleet, caller.company).await?;
    let locked = edit.lock_all::<Driver>(&ids).await?;
    let mut drivers: HashMap<_, _> = locked.into_iter().map(|driver| (driver.id, driver)).collect();
    for (index, position) in body.positions.into_iter().enumerate() {
        let driver = position.driver.and_then(|Reference(id)| drivers.remove(&id));
        let before = driver.ok_or_else(|| FieldErrors::one(&format!("positions[{index}].driver"), "There is no such driver."))?;
        let moved = position.of(&before.fields, edit.now);
        let record = edit.update(before, moved).await?.record;
        drivers.insert(record.id, record);
    }
    edit.commit().await?;
    Ok(axum::Json(json!({ "status": "ok" })).into_response())
}
