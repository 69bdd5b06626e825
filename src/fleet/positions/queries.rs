//! The SQL of locations. Table names are constants of the program, every value is bound.

use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::fleet::location::Location;
use crate::fleet::positions::Reported;
use crate::kernel::database::Connection;
use crate::resources::Record;

/// Writes only the locations and versions of these records. Their rows are locked and all changes have the same `updated_at`.
pub(super) async fn write_locations<R: Reported>(conn: &mut Connection, records: &[&Record<R>]) -> Result<(), sqlx::Error> {
    let Some(first) = records.first() else { return Ok(()) };
    let each = |column: fn(Location) -> Option<f64>| -> Vec<_> { records.iter().map(|record| column(record.fields.location())).collect() };
    let ids: Vec<Uuid> = records.iter().map(|record| record.id.into()).collect();
    let instants: Vec<_> = records.iter().map(|record| record.fields.located_at()).collect();
    let versions: Vec<_> = records.iter().map(|record| record.version).collect();
    let mut sql = QueryBuilder::new(format!("update {} as moved set version = now_at.version, updated_at = ", R::TABLE));
    sql.push_bind(first.updated_at)
        .push(
            ", latitude = now_at.latitude, longitude = now_at.longitude, heading = now_at.heading, speed = now_at.speed, \
             altitude = now_at.altitude, location_updated_at = now_at.instant from unnest(",
        )
        .push_bind(ids)
        .push(", ")
        .push_bind(versions)
        .push(", ")
        .push_bind(each(|location| location.latitude))
        .push(", ")
        .push_bind(each(|location| location.longitude))
        .push(", ")
        .push_bind(each(|location| location.heading))
        .push(", ")
        .push_bind(each(|location| location.speed))
        .push(", ")
        .push_bind(each(|location| location.altitude))
        .push(", ")
        .push_bind(instants)
        .push(") as now_at (id, version, latitude, longitude, heading, speed, altitude, instant) where moved.id = now_at.id");
    sql.build().execute(conn).await?;
    Ok(())
}
