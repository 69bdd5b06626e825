//! Issues: problems with an order, a vehicle or a driver, and their status.
//!
//! An issue can change from any status to any other. Every change to `resolved` publishes an event of its own. A reopened issue is
//! no longer resolved.

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::orders::Order;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::{DriverId, IssueId, OrderId, VehicleId};
use crate::kernel::problem::Problem;
use crate::resources::{Change, Filter, Instant, Line, Link, Meta, PublishesEvents, Record, RecordTransaction, Resource, Text, Validated};

crate::text_enum! {
    /// The status of an issue.
    pub enum IssueStatus, default Open {
        /// The issue was reported.
        Open = "open",
        /// The issue is being worked on.
        InProgress = "in_progress",
        /// The problem is solved.
        Resolved = "resolved",
        /// The issue will not be worked on any more.
        Closed = "closed",
    }
}

crate::text_enum! {
    /// The priority of an issue.
    pub enum IssuePriority, default Medium {
        /// Can wait.
        Low = "low",
        /// The default priority.
        Medium = "medium",
        /// More urgent than others.
        High = "high",
        /// Cannot wait.
        Critical = "critical",
    }
}

crate::fields! {
    /// An issue.
    pub struct Issue, body IssueBody {
        /// What happened.
        report: Text<5000>,
        /// A short summary.
        title: Option<Line<200>>,
        /// The type of the issue, defined by the shop.
        kind as "type": Option<Line<50>>,
        /// The category of the issue within its type, defined by the shop.
        category: Option<Line<100>>,
        /// The priority.
        priority: IssuePriority,
        /// The status.
        status: IssueStatus,
        /// The person who reported the issue.
        reporter: Option<Line<255>>,
        /// The driver that the issue is about.
        driver_id as "driver": Option<Link<Driver>>,
        /// The vehicle that the issue is about.
        vehicle_id as "vehicle": Option<Link<Vehicle>>,
        /// The order that the issue is about.
        order_id as "order": Option<Link<Order>>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    read_only {
        /// When the issue was last resolved. Null after it was reopened.
        resolved_at: Option<Instant>,
    }
}

impl Resource for Issue {
    type Id = IssueId;
    type State = Fleet;

    const SINGULAR: &'static str = "issue";
    const PLURAL: &'static str = "issues";
    const FILTERS: &'static [Filter] = &[
        Filter::text_enum::<IssueStatus>("status"),
        Filter::text_enum::<IssuePriority>("priority"),
        Filter::text("type").on("kind"),
        Filter::text("category"),
        Filter::id::<DriverId>("driver").on("driver_id"),
        Filter::id::<VehicleId>("vehicle").on("vehicle_id"),
        Filter::id::<OrderId>("order").on("order_id"),
    ];
    const SEARCH: &'static [&'static str] = &["title", "report", "category", "reporter"];
}

impl PublishesEvents for Issue {
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

impl Validated for Issue {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, issue: &mut Self) -> Result<(), Problem> {
        issue.resolved_at = match issue.status {
            IssueStatus::Open | IssueStatus::InProgress => None,
            IssueStatus::Resolved if before.is_none_or(|before| before.fields.status != IssueStatus::Resolved) => Some(transaction.now),
            IssueStatus::Resolved | IssueStatus::Closed => issue.resolved_at,
        };
        Ok(())
    }
}
