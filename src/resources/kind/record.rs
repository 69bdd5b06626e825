//! A stored record, and the form in which responses and events show it.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use uuid::Uuid;

use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::resources::{Resource, ResourceDescriptor, entity_tag};

/// A live record: the columns every resource has, and its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<R: Resource> {
    /// Its primary key.
    pub id: R::Id,
    /// The company that owns the record.
    pub company: CompanyId,
    /// The number of changes, starting at 1.
    pub version: i64,
    /// When the record was created.
    pub created_at: DateTime<Utc>,
    /// When the record was last changed.
    pub updated_at: DateTime<Utc>,
    /// The resource's own columns.
    pub fields: R,
}

impl<R: Resource> FromRow<'_, PgRow> for Record<R> {
    fn from_row(row: &PgRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get::<Uuid, _>("id")?.into(),
            company: row.try_get("company_id")?,
            version: row.try_get("version")?,
            created_at: row.try_get("created_at")?,
            updated_at: row.try_get("updated_at")?,
            fields: R::read(row)?,
        })
    }
}

/// A record together with its JSON fields, as shown in a response and in the `data` of its events.
#[derive(Clone, Debug)]
pub struct Shown<R: Resource> {
    /// The record.
    pub record: Record<R>,
    /// The JSON fields: `id`, `uuid`, the resource's own, `meta`, `created_at`, `updated_at`.
    pub members: Map<String, Value>,
    /// The singular name of the kind.
    singular: &'static str,
}

impl<R: Resource> Shown<R> {
    /// Presents one record.
    pub async fn one(conn: &mut Connection, descriptor: &ResourceDescriptor, record: Record<R>) -> Result<Self, sqlx::Error> {
        let shown = Self::many(conn, descriptor, vec![record]).await?.pop();
        Ok(shown.expect("one record was passed in"))
    }

    /// Presents many records with one call of [`Resource::present`].
    pub async fn many(conn: &mut Connection, descriptor: &ResourceDescriptor, records: Vec<Record<R>>) -> Result<Vec<Self>, sqlx::Error> {
        let presented = R::present(conn, &records).await?;
        assert_eq!(presented.len(), records.len(), "{} must present every record", descriptor.singular);
        let singular = descriptor.singular;
        Ok(records.into_iter().zip(presented).map(|(record, own)| Self { members: members(&record, own), record, singular }).collect())
    }

    /// The response `{"<singular>":{…}}` with the record's `ETag`.
    pub fn answer(self, status: StatusCode) -> Response {
        let tag = entity_tag::of(self.record.version);
        (status, [(header::ETAG, tag)], Json(json!({ self.singular: self.members }))).into_response()
    }

    /// The `data` of an event about the record. Decisions, section 7.
    pub(super) fn event_data(&self, additional: Map<String, Value>) -> Map<String, Value> {
        let mut data =
            Map::from_iter([("id".to_owned(), self.members["id"].clone()), ("public_id".to_owned(), self.members["id"].clone())]);
        data.extend(self.members.clone());
        data.insert("additionalData".to_owned(), additional.into());
        data
    }
}

fn members<R: Resource>(record: &Record<R>, mut own: Map<String, Value>) -> Map<String, Value> {
    let meta = own.shift_remove("meta").unwrap_or_else(|| Map::new().into());
    let uuid: Uuid = record.id.into();
    let mut members = Map::new();
    members.insert("id".to_owned(), record.id.to_string().into());
    members.insert("uuid".to_owned(), uuid.to_string().into());
    members.extend(own);
    members.insert("meta".to_owned(), meta);
    members.insert("created_at".to_owned(), timestamp(record.created_at).into());
    members.insert("updated_at".to_owned(), timestamp(record.updated_at).into());
    members
}

/// The fields of a JSON object, written like one: `members! { "name": driver.name, "phone": driver.phone }`.
#[macro_export]
macro_rules! members {
    ($($member:tt)*) => {
        match ::serde_json::json!({ $($member)* }) {
            ::serde_json::Value::Object(members) => members,
            _ => unreachable!("the value is an object"),
        }
    };
}
