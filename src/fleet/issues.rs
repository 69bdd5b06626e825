//! Issues: problems with an order, a vehicle or a driver, and their status.
//!
//! An issue can change from any status to any other. Every change to `resolved` publishes an event of its own. A reopened issue is
//! no longer resolved.

use crate::callers::Area;
use crate::events::EventName;
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::orders::Order;
use crate::fleet::vehicles::Vehicle;
use crate::kernel::ids::IssueId;
use crate::kernel::problem::Problem;
use crate::resources::{
    Change, EventDoc, Instant, Line, Link, Meta, PublishesEvents, Record, RecordTransaction, Resource, Text, Validated,
};

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
        #[sample = "The tail lift is stuck half way up."] #[searched]
        report: Text<5000>,
        /// A short summary.
        #[sample = "Tail lift"] #[searched]
        title: Option<Line<200>>,
        /// The type of the issue, defined by the shop.
        #[sample = "vehicle"] #[filtered]
        kind as "type": Option<Line<50>>,
        /// The category of the issue within its type, defined by the shop.
        #[sample = "hydraulics"] #[filtered] #[searched]
        category: Option<Line<100>>,
        /// The priority.
        #[sample = "high"] #[filtered]
        priority: IssuePriority,
        /// The status.
        #[filtered]
        status: IssueStatus,
        /// The person who reported the issue.
        #[sample = "Ada Lovelace"] #[searched]
        reporter: Option<Line<255>>,
        /// The driver that the issue is about.
        #[sample = "driver_01h455vb4pex5vsknk084sn02q"] #[filtered]
        driver_id as "driver": Option<Link<Driver>>,
        /// The vehicle that the issue is about.
        #[sample = "vehicle_01h455vb4pex5vsknk084sn02q"] #[filtered]
        vehicle_id as "vehicle": Option<Link<Vehicle>>,
        /// The order that the issue is about.
        #[filtered]
        order_id as "order": Option<Link<Order>>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    read_only {
        /// When the issue was last resolved. Null after it was reopened.
        resolved_at: Option<Instant>,
    }
}

crate::events! {
    /// The events about issues.
    pub const EVENTS {
        /// New issue or incident reported.
        CREATED = "issue.created";
        /// Existing issue updated.
        UPDATED = "issue.updated", |issue| issue.with("status", "in_progress").with("updated_at", "2026-05-21T10:30:00.000+00:00");
        /// Issue marked resolved.
        RESOLVED = "issue.resolved", |issue| issue
            .always("status", "resolved")
            .known("resolved_at", "2026-05-21T11:00:00.000+00:00")
            .with("updated_at", "2026-05-21T11:00:00.000+00:00");
        /// Issue deleted.
        DELETED = "issue.deleted";
    }
}

impl Resource for Issue {
    type Id = IssueId;
    type State = Fleet;

    const SINGULAR: &'static str = "issue";
    const PLURAL: &'static str = "issues";
    const AREA: Area = Area::Business;
}

impl PublishesEvents for Issue {
    const EVENTS: &'static [EventDoc] = EVENTS;

    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        let into_resolved = change.newly(|issue| Some(issue.status)) == Some(IssueStatus::Resolved);
        let own = match change {
            Change::Created(_) => CREATED,
            Change::Updated(..) => UPDATED,
            Change::Deleted(_) => DELETED,
        };
        into_resolved.then_some(RESOLVED).into_iter().chain([own]).collect()
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
