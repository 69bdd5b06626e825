//! Issues: what went wrong with an order, a vehicle or a driver, and what has become of it.
//!
//! An issue goes from any status to any other. Going into `resolved` is an event of its own, as often as it happens; what is opened
//! again is not resolved.

use serde_json::{Map, Value};

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::orders::Order;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::{DriverId, IssueId, OrderId, VehicleId};
use crate::kernel::problem::Problem;
use crate::resources::{Announced, Change, Edit, Fields, Filter, Instant, Line, Link, Meta, Record, Resource, Ruled, Text};

crate::words! {
    /// How far an issue has come.
    pub enum IssueStatus, initially Open {
        /// Reported.
        Open = "open",
        /// Somebody looks after it.
        InProgress = "in_progress",
        /// What was wrong is right again.
        Resolved = "resolved",
        /// Nobody will look after it any more.
        Closed = "closed",
    }
}

crate::words! {
    /// How much an issue matters.
    pub enum IssuePriority, initially Medium {
        /// It can wait.
        Low = "low",
        /// As usual.
        Medium = "medium",
        /// It comes before others.
        High = "high",
        /// It cannot wait.
        Critical = "critical",
    }
}

crate::fields! {
    /// An issue.
    pub struct Issue, sent as IssueBody {
        /// What happened.
        report: Text<5000>,
        /// The same in a few words.
        title: Option<Line<200>>,
        /// What kind of issue it is, in the shop's own words.
        kind as "type": Option<Line<50>>,
        /// Where it belongs among those of its kind, in the shop's own words.
        category: Option<Line<100>>,
        /// How much it matters.
        priority: IssuePriority,
        /// How far it has come.
        status: IssueStatus,
        /// Who reported it.
        reporter: Option<Line<255>>,
        /// The driver it is about.
        driver_id as "driver": Option<Link<Driver>>,
        /// The vehicle it is about.
        vehicle_id as "vehicle": Option<Link<Vehicle>>,
        /// The order it is about.
        order_id as "order": Option<Link<Order>>,
        /// What the shop keeps with it.
        meta: Meta,
    }
    kept {
        /// When it was resolved last.
        resolved_at: Option<Instant>,
    }
}

impl Resource for Issue {
    type Id = IssueId;
    type Room = Fleet;

    const SINGULAR: &'static str = "issue";
    const PLURAL: &'static str = "issues";
    const FILTERS: &'static [Filter] = &[
        Filter::word::<IssueStatus>("status"),
        Filter::word::<IssuePriority>("priority"),
        Filter::text("type").on("kind"),
        Filter::text("category"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<VehicleId>("vehicle").on("vehicle_id"),
        Filter::id::<OrderId>("order").on("order_id"),
    ];
    const SEARCH: &'static [&'static str] = &["title", "report", "category", "reporter"];

    fn shown(&self) -> Map<String, Value> {
        self.members()
    }
}

impl Announced for Issue {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let into_resolved = change.newly(|issue| Some(issue.status)) == Some(IssueStatus::Resolved);
        let own = match change {
            Change::Created(_) => names::ISSUE_CREATED,
            Change::Updated(..) => names::ISSUE_UPDATED,
            Change::Deleted(_) => names::ISSUE_DELETED,
        };
        into_resolved.then_some(names::ISSUE_RESOLVED).into_iter().chain([own]).collect()
    }
}

impl Ruled for Issue {
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, issue: &mut Self) -> Result<(), Problem> {
        issue.resolved_at = match issue.status {
            IssueStatus::Open | IssueStatus::InProgress => None,
            IssueStatus::Resolved if before.is_none_or(|before| before.fields.status != IssueStatus::Resolved) => Some(edit.now),
            IssueStatus::Resolved | IssueStatus::Closed => issue.resolved_at,
        };
        Ok(())
    }
}
