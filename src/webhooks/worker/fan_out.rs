//! Fan-out as the worker does it: a batch at a time, on one track, within the permits.

use std::mem;
use std::sync::Arc;

use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::Lane;
use crate::webhooks::engine::fan_out::{FannedOut, Whose};
use crate::webhooks::tracks::Track;
use crate::webhooks::worker::BATCH;
use crate::webhooks::worker::launcher::Launcher;
use crate::webhooks::worker::wake::Wake;

pub struct FanOut {
    pub track: Track,
    pub webhooks: Webhooks,
    pub wake: Arc<Wake>,
    pub launcher: Arc<Launcher>,
}

impl FanOut {
    /// Fans out a batch of events and sends at once what endpoints can take immediately. All other deliveries wait in lanes.
    pub async fn batch(&self, whose: Whose<'_>) -> Result<FannedOut, sqlx::Error> {
        let permits = &self.webhooks.delivering.permits;
        let shares = permits.shares(self.webhooks.settings.endpoint_concurrency());
        let most = match whose {
            Whose::Others { .. } => BATCH,
            // Not what they may not take: it is missing to the others as long as the statement runs.
            Whose::These(companies) => permits.rooms(companies).min(BATCH),
        };
        let permits = permits.take_some(Lane::Fresh, most);
        let (mut fanned_out, claimed) = self.webhooks.fan_out_batch(self.track, whose, permits.len(), &shares).await?;
        if fanned_out.queued {
            self.wake.queued(mem::take(&mut fanned_out.waiting));
        }
        self.launcher.send_all(claimed, permits);
        Ok(fanned_out)
    }
}
