//! Tracks: the connections on which deliveries are moved.
//!
//! Fan-out and recording lock the `endpoints` rows of a company, so two connections that move deliveries of one company mostly wait for each
//! other, and a company whose statements share a connection with another's waits for these. Therefore companies with much to do have
//! tracks of their own, and those with little never wait for them.

use std::iter;

use crate::kernel::database::{self, Pool};
use crate::kernel::ids::CompanyId;

/// The number of tracks among which the companies with much to do are divided.
pub const HEAVY_TRACKS: usize = 2;

/// A connection of an instance, for some of the statements that move deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// Fan-out and recording for companies with little to do, and claims of what was just queued for them.
    Light,
    /// Fan-out and recording for some of the companies with much to do.
    Heavy(usize),
    /// Claims from the lanes, for all companies.
    Lanes,
}

impl Track {
    /// The tracks on which events are fanned out and attempts recorded.
    pub fn of_companies() -> impl Iterator<Item = Self> {
        iter::once(Self::Light).chain((0..HEAVY_TRACKS).map(Self::Heavy))
    }

    /// The one for this company when it has much to do.
    pub fn heavy(company: CompanyId) -> Self {
        // An id ends with random bits.
        Self::Heavy(company.uuid().as_bytes()[15] as usize % HEAVY_TRACKS)
    }
}

/// One connection for each track. The server has the statements prepared on it, and their plans cached.
#[derive(Clone, Debug)]
pub struct DeliveryPools {
    light: Pool,
    heavy: [Pool; HEAVY_TRACKS],
    lanes: Pool,
}

impl DeliveryPools {
    pub fn new(pool: &Pool) -> Self {
        let pool = || database::delivery_pool(pool);
        Self { light: pool(), heavy: std::array::from_fn(|_| pool()), lanes: pool() }
    }

    pub fn of(&self, track: Track) -> &Pool {
        match track {
            Track::Light => &self.light,
            Track::Heavy(number) => &self.heavy[number],
            Track::Lanes => &self.lanes,
        }
    }
}
