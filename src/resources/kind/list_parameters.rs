//! The query parameters of a list. Unknown, invalid and repeated parameters are rejected (`docs/specification/decisions.md`, section 9).

use std::collections::HashSet;

use chrono::{DateTime, TimeDelta, Utc};
use url::form_urlencoded;

use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::Operand;
use crate::resources::cursor::{Cursor, Direction};
use crate::resources::{Instant, Resource, ResourceDescriptor};

const DEFAULT_LIMIT: u8 = 25;
const MAX_LIMIT: u8 = 100;

/// The parsed query parameters of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListParameters {
    /// Maximum number of records on the page.
    pub limit: u8,
    /// The position where the previous page ended.
    pub after: Option<Cursor>,
    /// The sort order: that of the cursor or of `sort`, or else the newest record first; the oldest first if the list is followed.
    pub direction: Direction,
    /// Whether the client asks for `meta.next` again and again, and must miss nothing.
    pub follow: bool,
    /// The search text.
    pub query: Option<String>,
    /// The columns and the values they must equal.
    pub filters: Vec<(&'static str, Operand)>,
    /// Inclusive lower bound of `created_at`.
    pub created_from: Option<DateTime<Utc>>,
    /// Exclusive upper bound of `created_at`.
    pub created_until: Option<DateTime<Utc>>,
    /// Inclusive lower bound of `updated_at`.
    pub updated_from: Option<DateTime<Utc>>,
    /// Exclusive upper bound of `updated_at`.
    pub updated_until: Option<DateTime<Utc>>,
}

impl ListParameters {
    /// Parses the query string of a request URL.
    pub fn parse<R: Resource>(descriptor: &ResourceDescriptor, query: &str) -> Result<Self, Problem> {
        let mut parameters = Self {
            limit: DEFAULT_LIMIT,
            after: None,
            direction: Direction::NewestFirst,
            follow: false,
            query: None,
            filters: Vec::new(),
            created_from: None,
            created_until: None,
            updated_from: None,
            updated_until: None,
        };
        let (mut seen, mut sort) = (HashSet::new(), None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if value.contains('\0') {
                return Err(refused(&name, "may not contain a NUL character"));
            }
            if !seen.insert(name.clone()) {
                return Err(refused(&name, "may occur only once"));
            }
            match &*name {
                "limit" => parameters.limit = limit(&value)?,
                "after" => parameters.after = Some(Cursor::decode(&value).ok_or_else(|| refused("after", "is not a cursor of a list"))?),
                "sort" => sort = Some(direction(&value)?),
                "follow" => parameters.follow = value.parse().map_err(|_| refused("follow", "must be true or false"))?,
                // Responses show instants with milliseconds, so milliseconds are compared: a record shown with exactly this instant
                // is not after it.
                "created_after" => parameters.created_from = Some(instant(&name, &value)? + TimeDelta::milliseconds(1)),
                "created_before" => parameters.created_until = Some(instant(&name, &value)?),
                "updated_after" => parameters.updated_from = Some(instant(&name, &value)? + TimeDelta::milliseconds(1)),
                "updated_before" => parameters.updated_until = Some(instant(&name, &value)?),
                "query" if !descriptor.search_columns.is_empty() => {
                    parameters.query = Some(value.into_owned()).filter(|words| !words.is_empty())
                }
                other => parameters.filters.push(filter(descriptor, other, &value)?),
            }
        }
        if let (Some(_), Some(within)) = (&parameters.query, R::SEARCH_WITHIN)
            && !parameters.filters.iter().any(|(column, _)| *column == within)
        {
            let filter = descriptor.filters.iter().find(|filter| filter.column == within).map_or(within, |filter| filter.name);
            return Err(refused("query", &format!("is only supported together with {filter}")));
        }
        match (parameters.after, sort) {
            (Some(after), Some(sort)) if after.direction != sort => {
                return Err(refused("after", "is the cursor of a list in another order"));
            }
            (Some(after), _) => parameters.direction = after.direction,
            (None, Some(sort)) => parameters.direction = sort,
            (None, None) if parameters.follow => parameters.direction = Direction::OldestFirst,
            (None, None) => {}
        }
        if parameters.follow && !parameters.direction.is_forward() {
            return Err(refused("follow", "is only supported together with sort=created_at or sort=updated_at"));
        }
        Ok(parameters)
    }

    /// Whether the list is narrowed by the instants of last changes.
    pub fn is_narrowed_by_changes(&self) -> bool {
        self.updated_from.is_some() || self.updated_until.is_some()
    }
}

fn limit(value: &str) -> Result<u8, Problem> {
    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| refused("limit", &format!("must be a whole number from 1 to {MAX_LIMIT}")))
}

fn direction(value: &str) -> Result<Direction, Problem> {
    let named = Direction::NAMED.into_iter().find(|(name, _)| *name == value);
    named.map(|(_, direction)| direction).ok_or_else(|| refused("sort", &format!("must be one of {}", Direction::names().join(", "))))
}

fn instant(name: &str, value: &str) -> Result<DateTime<Utc>, Problem> {
    // In a query string a bare `+` means a space. The instants in responses contain a `+`, and clients paste them unchanged.
    let instant = value.replace(' ', "+").parse::<Instant>();
    instant.map(Into::into).map_err(|_| refused(name, "must be an instant such as 2026-05-21T10:15:00.000+00:00"))
}

fn filter(descriptor: &ResourceDescriptor, name: &str, value: &str) -> Result<(&'static str, Operand), Problem> {
    let filter = descriptor.filters.iter().find(|filter| filter.name == name).ok_or_else(|| unknown(name))?;
    let operand = filter.read(value).ok_or_else(|| refused(name, &format!("must be {}", filter.expected())))?;
    Ok((filter.column, operand))
}

/// The error for a parameter that a route does not take.
pub fn unknown(name: &str) -> Problem {
    refused(name, "is unknown")
}

fn refused(name: &str, reason: &str) -> Problem {
    Problem::new(ProblemCode::ParameterInvalid).detail(format!("The parameter {name} {reason}.")).member("parameter", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ids::VehicleId;
    use crate::resources::kind::example::Shelf;
    use uuid::Uuid;

    fn parse(query: &str) -> Result<ListParameters, String> {
        ListParameters::parse::<Shelf>(&ResourceDescriptor::of::<Shelf>(), query)
            .map_err(|problem| problem.body("r")["parameter"].as_str().unwrap().to_owned())
    }

    fn cursor(direction: Direction) -> String {
        Cursor::new(direction, DateTime::UNIX_EPOCH, Uuid::nil()).encode()
    }

    #[test]
    fn what_is_not_said_is_the_newest_25() {
        let parameters = parse("").unwrap();
        assert_eq!((parameters.limit, parameters.direction), (25, Direction::NewestFirst));
        assert!(parameters.filters.is_empty() && parameters.query.is_none() && parameters.after.is_none());
    }

    #[test]
    fn every_parameter_is_understood() {
        let truck = VehicleId::from(Uuid::from_u128(7));
        let parameters = parse(&format!("limit=100&sort=created_at&query=a%25+b&full=true&truck={truck}")).unwrap();
        assert_eq!((parameters.limit, parameters.direction), (100, Direction::OldestFirst));
        assert_eq!(parameters.query.as_deref(), Some("a% b"));
        assert_eq!(parameters.filters, [("full", Operand::Boolean(true)), ("vehicle_id", Operand::Id(truck.uuid()))]);
    }

    #[test]
    fn instants_are_compared_as_they_are_shown() {
        let shown = "2026-05-21T10:15:00.000+00:00";
        let parameters = parse(&format!("created_after={shown}&created_before={shown}")).unwrap();
        let at = DateTime::parse_from_rfc3339(shown).unwrap();
        assert_eq!(parameters.created_until.unwrap(), at);
        assert_eq!(parameters.created_from.unwrap(), at + TimeDelta::milliseconds(1));
        let parameters = parse(&format!("updated_after={shown}&updated_before={shown}")).unwrap();
        assert_eq!(parameters.updated_until.unwrap(), at);
        assert_eq!(parameters.updated_from.unwrap(), at + TimeDelta::milliseconds(1));
    }

    #[test]
    fn what_is_followed_begins_with_the_oldest() {
        let order = |query: &str| parse(query).unwrap().direction;
        assert_eq!(order("follow=true"), Direction::OldestFirst);
        assert_eq!(order("follow=true&sort=updated_at"), Direction::LongestUnchangedFirst);
        assert_eq!(order("follow=false"), Direction::NewestFirst);
        let newest_first = cursor(Direction::NewestFirst);
        for query in
            ["follow=true&sort=-created_at", "follow=true&sort=-updated_at", &format!("follow=true&after={newest_first}"), "follow=yes"]
        {
            assert_eq!(parse(query).unwrap_err(), "follow", "{query}");
        }
    }

    #[test]
    fn a_cursor_keeps_the_order_of_its_list() {
        let oldest_first = cursor(Direction::OldestFirst);
        assert_eq!(parse(&format!("after={oldest_first}")).unwrap().direction, Direction::OldestFirst);
        assert_eq!(parse(&format!("sort=-created_at&after={oldest_first}")).unwrap_err(), "after");
    }

    #[test]
    fn refusals_name_the_parameter() {
        for (query, parameter) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=-1", "limit"),
            ("limit=ten", "limit"),
            ("limit=", "limit"),
            ("limit=5&limit=5", "limit"),
            ("after=x", "after"),
            ("after=", "after"),
            ("sort=label", "sort"),
            ("created_after=yesterday", "created_after"),
            ("created_before=2026-05-21", "created_before"),
            ("full=yes", "full"),
            ("truck=driver_01h455vb4pex5vsknk084sn02q", "truck"),
            ("query=a%00b", "query"),
            ("label=a", "label"),
            ("Limit=5", "Limit"),
            ("=5", ""),
        ] {
            assert_eq!(parse(query).unwrap_err(), parameter, "{query:?}");
        }
    }
}
