//! The group commit of positions that are reported one by one: those that arrive at the same moment are recorded together.

use std::collections::BTreeSet;

use crate::callers::Caller;
use crate::fleet::Fleet;
use crate::fleet::drivers::Driver;
use crate::fleet::positions::{Position, Reported, move_all};
use crate::fleet::vehicles::Vehicle;
use crate::kernel::group_commit::GroupCommit;
use crate::kernel::group_metrics::GroupMetrics;
use crate::kernel::ids::{CompanyId, TypedId};
use crate::kernel::lifecycle::Lifecycle;
use crate::resources::{RecordTransaction, Resource, Shown};

/// Maximum number of single positions per batch.
const MAX_BATCH: usize = 64;

/// Records positions that are reported one by one.
#[derive(Clone, Debug)]
pub struct Positions {
    pub(super) drivers: SinglePositions<Driver>,
    pub(super) vehicles: SinglePositions<Vehicle>,
}

impl Positions {
    /// On shutdown, `lifecycle` waits for the positions being recorded.
    pub fn new(fleet: &Fleet, lifecycle: &Lifecycle) -> Self {
        Self { drivers: single_positions(fleet, lifecycle), vehicles: single_positions(fleet, lifecycle) }
    }

    /// What is measured of the queues, by their names.
    pub fn group_metrics(&self) -> [(&'static str, &GroupMetrics); 2] {
        [("driver_positions", self.drivers.metrics()), ("vehicle_positions", self.vehicles.metrics())]
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SinglePosition<I: TypedId> {
    pub(super) company: CompanyId,
    pub(super) id: I,
    pub(super) position: Position<I>,
}

/// Records single positions in batches. Returns each record, or `None` if it does not exist.
pub type SinglePositions<R> = GroupCommit<SinglePosition<<R as Resource>::Id>, Option<Shown<R>>>;

/// Creates the group commit of single positions, over all companies.
fn single_positions<R: Reported>(fleet: &Fleet, lifecycle: &Lifecycle) -> SinglePositions<R> {
    let fleet = fleet.clone();
    GroupCommit::new(lifecycle.clone(), MAX_BATCH, move |positions| {
        let fleet = fleet.clone();
        async move { record_singles(&fleet, &positions).await }
    })
}

/// Records the positions of each company in one transaction, which several callers share. If one of these transactions fails, all positions are recorded again one
/// by one; a position that is recorded again publishes nothing.
async fn record_singles<R: Reported>(fleet: &Fleet, positions: &[SinglePosition<R::Id>]) -> Result<Vec<Option<Shown<R>>>, sqlx::Error> {
    let mut shown: Vec<_> = positions.iter().map(|_| None).collect();
    let companies: BTreeSet<_> = positions.iter().map(|single| single.company).collect();
    for company in companies {
        let of_company: Vec<_> = (0..).zip(positions).filter(|(_, single)| single.company == company).collect();
        let mut transaction = RecordTransaction::begin(fleet, &Caller::service(company)).await?;
        let moved = move_all::<R>(&mut transaction, of_company.iter().map(|(_, single)| (single.id, single.position)).collect()).await?;
        let (places, records): (Vec<usize>, Vec<_>) =
            of_company.iter().filter_map(|(place, single)| Some((*place, moved.get(&single.id)?.clone()))).unzip();
        let presented = transaction.present_all(records).await?;
        transaction.commit().await?;
        for (place, record) in places.into_iter().zip(presented) {
            shown[place] = Some(record);
        }
    }
    Ok(shown)
}
