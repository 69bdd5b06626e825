//! The SQL of the lists: narrowed by filters, dates and words, in pages.

use chrono::{DateTime, Utc};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::resources::cursor::{Cursor, Direction};
use crate::resources::kind::list_parameters::ListParameters;
use crate::resources::kind::queries::{Whose, live_of, select};
use crate::resources::{Record, Resource, ResourceDescriptor};

/// How many records are read for one page where no index helps.
pub const MAX_SCANNED_RECORDS: i64 = 5000;

/// Adds the conditions of `parameters` to a statement, except those that may have no index: the search text, and the instants of changes.
fn narrowed(mut sql: QueryBuilder<Postgres>, parameters: &ListParameters) -> QueryBuilder<Postgres> {
    for (column, operand) in &parameters.filters {
        operand.push_condition(column, &mut sql);
    }
    if let Some(from) = parameters.created_from {
        sql.push(" and created_at >= ").push_bind(from);
    }
    if let Some(until) = parameters.created_until {
        sql.push(" and created_at < ").push_bind(until);
    }
    if let Some(after) = parameters.after {
        push_key(&mut sql, after.direction.comparison(), after);
    }
    sql
}

/// Appends `and (created_at, id) < (…)`.
fn push_key(sql: &mut QueryBuilder<Postgres>, comparison: &str, key: Cursor) {
    sql.push(format!(" and ({}, id) {comparison} (", key.direction.column())).push_bind(key.at);
    sql.push(", ").push_bind(key.id).push(")");
}

/// Appends the order of the list, and `limit`, without the number.
fn push_order(sql: &mut QueryBuilder<Postgres>, direction: Direction) {
    let (column, order) = (direction.column(), direction.order());
    sql.push(format!(" order by {column} {order}, id {order} limit "));
}

/// Whether an index finds what the list is narrowed by beside its filters. An order by changes has none, and reads everything anyway.
fn is_indexed<R: Resource>(parameters: &ListParameters) -> bool {
    let words = parameters.query.as_ref().is_none_or(|words| R::SEARCH_INDEX && has_trigram(words));
    words && (!parameters.is_narrowed_by_changes() || parameters.direction.is_by_change())
}

/// Whether an index finds texts that contain `words`: it knows them by three characters in a row.
fn has_trigram(words: &str) -> bool {
    words.split(|character: char| !character.is_alphanumeric()).any(|word| word.chars().nth(2).is_some())
}

/// The last record that is read for this page where no index helps; `None` if all remaining records can be read.
pub async fn find_horizon<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    parameters: &ListParameters,
) -> Result<Option<Cursor>, sqlx::Error> {
    if is_indexed::<R>(parameters) {
        return Ok(None);
    }
    let direction = parameters.direction;
    let mut sql = narrowed(live_of::<R>(&format!("{}, id", direction.column()), descriptor, whose), parameters);
    push_order(&mut sql, direction);
    sql.push("1 offset ").push_bind(MAX_SCANNED_RECORDS - 1);
    let row: Option<(DateTime<Utc>, Uuid)> = sql.build_query_as().fetch_optional(conn).await?;
    Ok(row.map(|(at, id)| Cursor::new(direction, at, id)))
}

/// Returns up to one record more than a page holds, none of them after the `horizon`. A search passes over the events `withheld`.
pub async fn list<R: Resource>(
    conn: &mut Connection,
    descriptor: &ResourceDescriptor,
    whose: Whose<'_>,
    parameters: &ListParameters,
    horizon: Option<Cursor>,
    withheld: &[String],
) -> Result<Vec<Record<R>>, sqlx::Error> {
    let mut sql = narrowed(select::<R>(descriptor, whose), parameters);
    if let Some(horizon) = horizon {
        push_key(&mut sql, horizon.direction.comparison_until(), horizon);
    }
    if let Some(from) = parameters.updated_from {
        sql.push(" and updated_at >= ").push_bind(from);
    }
    if let Some(until) = parameters.updated_until {
        sql.push(" and updated_at < ").push_bind(until);
    }
    if let Some(words) = &parameters.query {
        push_search(descriptor, &mut sql, words);
        if !R::EVENT_DATA.is_empty() && !withheld.is_empty() {
            sql.push(" and event <> all(").push_bind(withheld.to_vec()).push(")");
        }
    }
    push_order(&mut sql, parameters.direction);
    sql.push_bind(i64::from(parameters.limit) + 1);
    // Whether an index helps depends on the search text, so a search is planned anew each time.
    sql.build_query_as().persistent(parameters.query.is_none()).fetch_all(conn).await
}

fn push_search(descriptor: &ResourceDescriptor, sql: &mut QueryBuilder<Postgres>, words: &str) {
    let pattern = contains(words);
    sql.push(" and (");
    let mut columns = sql.separated(" or ");
    for column in descriptor.search_columns {
        columns.push(format!("folded({column}) like folded(")).push_bind_unseparated(pattern.clone()).push_unseparated(")");
    }
    sql.push(")");
}

/// The `like` pattern of texts that contain `words`, with `%`, `_` and `\` escaped. Folding leaves these as they are.
fn contains(words: &str) -> String {
    let escaped = words.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    format!("%{escaped}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::CompanyId;
    use crate::resources::kind::example::Shelf;

    #[test]
    fn words_are_bound_and_no_part_of_the_statement() {
        let (descriptor, company) = (ResourceDescriptor::of::<Shelf>(), CompanyId::from(Uuid::from_u128(7)));
        let mut sql = select::<Shelf>(&descriptor, company.into());
        push_search(&descriptor, &mut sql, "'; drop table book_shelves --");
        assert!(sql.into_string().ends_with("company_id = $1 and (folded(label) like folded($2))"));
    }

    #[test]
    fn an_index_needs_three_characters_in_a_row() {
        assert_eq!(["abc", "a b cde", "äöü", "ab", "a-b-c", "", "%%%"].map(has_trigram), [true, true, true, false, false, false, false]);
    }

    #[test]
    fn a_search_is_for_the_words_and_not_for_patterns() {
        assert_eq!(contains(r"50%_off\"), r"%50\%\_off\\%");
    }
}
