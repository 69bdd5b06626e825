//! The launcher: starts the attempts of claimed deliveries, each as a task of its own, so a slow endpoint does not delay others.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::kernel::lifecycle::Lifecycle;
use crate::webhooks::permits::{Flight, InFlight, Permit};
use crate::webhooks::sending::Attempt;
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::heavy::Heavy;
use crate::webhooks::{Claimed, Webhooks};

/// A finished attempt, with the permit it holds until it is recorded.
pub type Ended = (Attempt, Flight);

pub struct Launcher {
    webhooks: Webhooks,
    lifecycle: Lifecycle,
    heavy: Arc<Heavy>,
    recorders: HashMap<Track, ToRecorder>,
}

/// The way to a recorder.
#[derive(Debug)]
pub struct ToRecorder {
    /// The attempts that end there.
    pub in_flight: InFlight,
    pub ended: mpsc::Sender<Ended>,
}

impl Launcher {
    /// A launcher whose attempts are passed to the recorder of their track when they have ended.
    pub fn new(webhooks: Webhooks, lifecycle: Lifecycle, heavy: Arc<Heavy>, recorders: HashMap<Track, ToRecorder>) -> Self {
        Self { webhooks, lifecycle, heavy, recorders }
    }

    /// Sends claimed deliveries. There is a permit for each; unused permits are released.
    pub fn send_all(&self, claimed: Vec<Claimed>, permits: impl IntoIterator<Item = Permit>) {
        for (claimed, permit) in claimed.into_iter().zip(permits) {
            self.send(claimed, permit);
        }
    }

    fn send(&self, claimed: Claimed, permit: Permit) {
        let in_flight = self.webhooks.delivering.permits.in_flight(claimed.company);
        let recorder = &self.recorders[&self.heavy.track_of(claimed.company, in_flight)];
        let (webhooks, ended, flight) = (self.webhooks.clone(), recorder.ended.clone(), recorder.in_flight.begin(permit, claimed.company));
        self.lifecycle.spawn(async move {
            let attempt = webhooks.send(claimed).await;
            // The channel is closed when the recorder has given up on the database; the lease then expires.
            let _ = ended.send((attempt, flight)).await;
        });
    }
}
