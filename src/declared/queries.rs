//! The SQL of declared records, beside that of every resource.

use sqlx::{PgConnection, QueryBuilder};
use uuid::Uuid;

use crate::declared::declaration::Target;
use crate::kernel::ids::CompanyId;

/// Whether the company has such a record. The name of the table is the program's own.
pub(super) async fn is_there(conn: &mut PgConnection, company: CompanyId, target: &Target, id: Uuid) -> Result<bool, sqlx::Error> {
    let table = target.table.unwrap_or("declared_records");
    let mut sql = QueryBuilder::new(format!("select exists (select from {table} where deleted_at is null and id = "));
    sql.push_bind(id).push(" and company_id = ").push_bind(company.uuid());
    if target.table.is_none() {
        sql.push(" and kind = ").push_bind(&target.kind);
    }
    sql.push(")").build_query_scalar().fetch_one(conn).await
}
