//! The secrets that sign, from one rotation to the next.

use chrono::{DateTime, Utc};

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::TypedId;
use crate::webhooks::endpoint::{SigningSecret, SigningSecrets};

/// Secrets as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct SealedSecrets<'a> {
    /// The one that signs.
    pub current: &'a [u8],
    /// The one before, and until when it signs as well.
    pub previous: Option<(&'a [u8], DateTime<Utc>)>,
}

/// Secrets that are opened.
#[derive(Debug)]
pub struct RotatingSecrets {
    alone: SigningSecrets,
    /// Both secrets, during the overlap of a rotation, and the end of the overlap.
    overlapping: Option<(SigningSecrets, DateTime<Utc>)>,
}

impl RotatingSecrets {
    /// Opens secrets that were sealed for the row with this id.
    pub fn open(key: &ApplicationKey, id: impl TypedId, sealed: SealedSecrets<'_>) -> Result<Self, CannotOpen> {
        let current = SigningSecret::open(key, id, sealed.current)?;
        let overlapping = match sealed.previous {
            Some((sealed, until)) => {
                let previous = Some(SigningSecret::open(key, id, sealed)?);
                Some((SigningSecrets { current: current.clone(), previous }, until))
            }
            None => None,
        };
        Ok(Self { alone: SigningSecrets { current, previous: None }, overlapping })
    }

    /// The secrets that sign at `at`.
    pub fn at(&self, at: DateTime<Utc>) -> &SigningSecrets {
        match &self.overlapping {
            Some((both, until)) if at < *until => both,
            _ => &self.alone,
        }
    }
}
