//! How the capacity is shared out.
//!
//! The shares follow from what is free, as switches share buffers among their ports: an endpoint may have a quarter of the free permits in
//! flight, and a company four times the free permits. One that is alone gets most of the capacity, and the more there are that
//! want much, the less each of them gets; but a part of the capacity always stays free for those that want little. Neither is held to less
//! than [`FEW`] deliveries.

use uuid::Uuid;

use crate::kernel::ids::CompanyId;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::permits::{Permits, Taken, lock};

/// The deliveries in flight that an endpoint and a company may have however few permits are free.
const FEW: usize = 4;
/// How many times the free permits a company may have in flight.
const OF_COMPANY: usize = 4;
/// The part of the free permits that an endpoint may have in flight.
const OF_ENDPOINT: usize = 4;

/// What a statement that takes deliveries into flight may take.
#[derive(Debug)]
pub struct Shares {
    /// The permits that are free.
    pub free: usize,
    /// Maximum number of deliveries in flight to one endpoint.
    pub endpoint: i32,
    /// Whether this is less than an endpoint may have when enough permits are free.
    pub scarce: bool,
    /// Maximum number of deliveries to take for a company that has none in flight,
    pub company: i32,
    /// and for each of those that have some.
    pub holders: Vec<Uuid>,
    pub rooms: Vec<i32>,
}

/// What the deliveries of one event may take, of a company that has none in flight.
#[derive(Debug)]
pub struct AtOnce {
    /// One for each delivery.
    pub permits: Taken,
    /// Maximum number of deliveries in flight to one endpoint.
    pub endpoint: i32,
}

impl Shares {
    /// No other limit than that of the settings: `endpoint` deliveries in flight to one endpoint.
    pub fn unlimited(endpoint: i32) -> Self {
        Self { free: usize::MAX, endpoint, scarce: false, company: i32::MAX, holders: Vec::new(), rooms: Vec::new() }
    }
}

impl Permits {
    /// What may be taken now, before any permits are: at most `most` deliveries in flight to one endpoint.
    pub fn shares(&self, most: i32) -> Shares {
        let free = self.free();
        let endpoint = share_of_endpoint(free, most);
        let (holders, rooms) =
            lock(&self.held).by_company.iter().map(|(company, flying)| (company.uuid(), as_sql(room_of_company(*flying, free)))).unzip();
        Shares { free, endpoint, scarce: endpoint < most, company: as_sql(room_of_company(0, free)), holders, rooms }
    }

    /// Takes permits for at most `deliveries` of one event. `None` if the company has some in flight, or if there are no permits. An endpoint may have
    /// at most `most` in flight.
    pub fn take_at_once(&self, company: CompanyId, deliveries: usize, most: i32) -> Option<AtOnce> {
        if self.in_flight(company) > 0 {
            return None;
        }
        let free = self.free();
        let permits = self.take_some(Lane::Fresh, deliveries.min(room_of_company(0, free)));
        (permits.len() > 0).then(|| AtOnce { permits, endpoint: share_of_endpoint(free, most) })
    }

    /// How many more deliveries these companies may take, all together.
    pub fn rooms(&self, companies: &[CompanyId]) -> usize {
        let free = self.free();
        companies.iter().map(|company| room_of_company(self.in_flight(*company), free)).sum()
    }

    /// Whether the company may go on with as many deliveries as it has in flight.
    pub fn may_keep(&self, company: CompanyId) -> bool {
        self.in_flight(company) <= FEW.max(OF_COMPANY * self.free())
    }
}

/// How many more deliveries a company may take that has `flying`: as many as leave it at most four times what is free then.
fn room_of_company(flying: usize, free: usize) -> usize {
    let few = FEW.saturating_sub(flying);
    few.max((OF_COMPANY * free).saturating_sub(flying) / (OF_COMPANY + 1))
}

/// How many deliveries an endpoint may have in flight, `most` at most.
fn share_of_endpoint(free: usize, most: i32) -> i32 {
    as_sql(FEW.max(free / OF_ENDPOINT)).min(most)
}

fn as_sql(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn however_much_companies_want_there_is_room_for_another() {
        let companies = [(); 3].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        let (permits, mut held) = (Permits::new(500), Vec::new());
        let mut take_all_of = |company: CompanyId| loop {
            let shares = permits.shares(50);
            let place = shares.holders.iter().position(|holder| *holder == company.uuid());
            let room = place.map_or(shares.company, |place| shares.rooms[place]);
            if room == 0 {
                return (permits.all.available_permits(), shares.endpoint);
            }
            let taken = permits.take(Lane::Fresh, usize::try_from(room).unwrap());
            held.extend(taken.map(|permit| permit.held_by(company)));
        };
        assert_eq!(take_all_of(companies[0]), (100, 25), "400 of 500: four times what is free");
        assert_eq!(take_all_of(companies[1]), (20, 5));
        assert_eq!(take_all_of(companies[2]), (4, 4));
        let of_first = 400;
        assert!(!permits.may_keep(companies[0]), "its ended deliveries are not followed by others until the second one has its share");
        drop(held.drain(..of_first));
        assert_eq!(lock(&permits.held).by_company.len(), 2);
        assert!(permits.may_keep(companies[0]) && permits.may_keep(companies[1]));
    }

    #[test]
    fn a_few_deliveries_are_never_held_back() {
        let permits = Permits::new(4);
        let shares = permits.shares(50);
        assert_eq!((shares.endpoint, shares.company), (4, 4));
        assert_eq!((permits.shares(2).endpoint, permits.shares(2).scarce), (2, false));
    }

    #[test]
    fn who_has_nothing_in_flight_may_take_some_at_once_and_leaves_as_many_to_others() {
        let companies = [(); 2].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        let permits = Permits::new(20);
        let mut taken = permits.take_at_once(companies[0], 16, 50).unwrap();
        assert_eq!((taken.permits.len(), taken.endpoint), (10, 5), "half of those that are free");
        let held = taken.permits.next().unwrap().held_by(companies[0]);
        drop(taken);
        assert!(permits.take_at_once(companies[0], 16, 50).is_none(), "one is in flight");
        assert_eq!(permits.take_at_once(companies[1], 3, 2).map(|taken| (taken.permits.len(), taken.endpoint)), Some((3, 2)));
        drop(held);
        let _all: Vec<_> = permits.take(Lane::Fresh, 20).collect();
        assert!(permits.take_at_once(companies[0], 16, 50).is_none(), "there are none");
    }

    #[test]
    fn companies_together_may_take_what_each_of_them_may() {
        let companies = [(); 2].map(|()| CompanyId::new(DateTime::UNIX_EPOCH));
        let permits = Permits::new(10);
        assert_eq!(permits.rooms(&companies), 16, "eight each, of ten that are free");
        let _held: Vec<_> = permits.take(Lane::Fresh, 8).map(|permit| permit.held_by(companies[0])).collect();
        assert_eq!(permits.rooms(&companies[..1]), 0);
        assert_eq!(permits.rooms(&companies), FEW);
    }
}
