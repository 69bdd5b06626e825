//! The SQL of fleets, in addition to that of every resource.

use std::collections::HashMap;

use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::FleetId;

/// The number of drivers and vehicles of a fleet.
#[derive(Default)]
pub(super) struct MemberCount {
    pub(super) drivers: i64,
    pub(super) vehicles: i64,
}

pub(super) async fn count_members(conn: &mut Connection, fleets: &[Uuid]) -> Result<HashMap<FleetId, MemberCount>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select fleet as "fleet!",
             (select count(*) from fleet_members where fleet_id = fleet and kind = 'driver') as "drivers!",
             (select count(*) from fleet_members where fleet_id = fleet and kind = 'vehicle') as "vehicles!"
           from unnest($1::uuid[]) as fleet"#,
        fleets,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.fleet.into(), MemberCount { drivers: row.drivers, vehicles: row.vehicles })).collect())
}

/// Whether `above` is `fleet` itself or one of its ancestors.
pub(super) async fn leads_up_to(conn: &mut Connection, fleet: FleetId, above: FleetId) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"with recursive way_up (id) as (
             values ($1::uuid)
             union
             select fleets.parent_id from fleets join way_up on fleets.id = way_up.id where fleets.parent_id is not null
           )
           select exists (select from way_up where id = $2) as "leads!""#,
        fleet.uuid(),
        above.uuid(),
    )
    .fetch_one(conn)
    .await
}
