//! How strictly the rules are kept that a solved challenge lifts.

/// Where a rule begins to refuse. What bounds a loss is never lifted: texts to a number and from an address, the texts of a day, and what an
/// operator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// From three quarters of a limit on: what is close to it.
    Early,
    /// As the settings say.
    Usual,
    /// Not at all: the pauses of the guard, and the limits of a range and of codes that are under way.
    Lifted,
}

impl Strictness {
    /// A limit that a solved challenge lifts.
    pub(super) fn soft(self, allowed: i64) -> Option<i64> {
        if self == Self::Lifted { None } else { Some(self.early(allowed)) }
    }

    /// A limit that it does not lift, but that it is asked for close to.
    pub(super) fn early(self, allowed: i64) -> i64 {
        if self == Self::Early { (allowed * 3 / 4).max(1).min(allowed) } else { allowed }
    }
}
