//! A new signing secret beside the previous one. A gateway is told its new secret at another moment than this service, and repeats callbacks
//! that it signed before; during the overlap both secrets verify.

use chrono::{DateTime, TimeDelta, Utc};

use crate::gateways::accounts::{Gateway, signing_secret};
use crate::gateways::credential::GatewaySigningSecret;
use crate::gateways::drivers::Finding;
use crate::kernel::clock::timestamp;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::GatewayId;

impl Gateway {
    /// Replaces the signing secret; the one before goes on verifying for `overlap`. At most two secrets verify. Without a secret, nothing is
    /// verified any more.
    ///
    /// The same secret again is a request that is repeated, and leaves the previous one where it is.
    pub(super) fn rotate(
        &mut self,
        secret: Option<GatewaySigningSecret>,
        overlap: TimeDelta,
        (key, id, now): (&ApplicationKey, GatewayId, DateTime<Utc>),
    ) {
        let before = std::mem::replace(&mut self.signing_secret, secret.as_ref().map(|secret| secret.seal(key, id)));
        // One that cannot be opened under this application key verifies nothing.
        let opened = signing_secret(key, id, before.as_deref()).ok().flatten();
        let is_repeated = matches!((&secret, &opened), (Some(secret), Some(before)) if secret.is(before));
        let previous = match (secret, opened) {
            (Some(_), Some(_)) if is_repeated => self.previous_signing_secret.take().filter(|_| self.overlaps(now)),
            (Some(_), Some(_)) => before,
            (None, _) | (_, None) => None,
        };
        self.overlap(previous, overlap, now);
    }

    /// Moves the end of an overlap that has not ended.
    pub(super) fn end_overlap(&mut self, overlap: TimeDelta, now: DateTime<Utc>) {
        let previous = self.previous_signing_secret.take().filter(|_| self.overlaps(now));
        self.overlap(previous, overlap, now);
    }

    /// Whether two secrets verify.
    pub(super) fn overlaps(&self, now: DateTime<Utc>) -> bool {
        self.previous_signing_secret_until.is_some_and(|until| now < until)
    }

    /// That two secrets verify, and until when.
    pub(super) fn overlap_finding(&self, now: DateTime<Utc>) -> Option<Finding> {
        let until = self.previous_signing_secret_until.filter(|_| self.overlaps(now))?;
        let sentence = format!("Callbacks signed with the previous secret are accepted as well until {}.", timestamp(until));
        Some(Finding::good("previous_signing_secret", sentence))
    }

    fn overlap(&mut self, previous: Option<Vec<u8>>, overlap: TimeDelta, now: DateTime<Utc>) {
        let until = (previous.is_some() && overlap > TimeDelta::zero()).then(|| now + overlap);
        (self.previous_signing_secret, self.previous_signing_secret_until) = (previous.filter(|_| until.is_some()), until);
    }
}
