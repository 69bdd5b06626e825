//! Whether a subscription is served, and why not.

crate::words! {
    /// Whether deliveries are made.
    pub enum Status, initially Enabled {
        /// They are.
        Enabled = "enabled",
        /// Nothing is sent, and what happens meanwhile is not sent later either.
        Disabled = "disabled",
    }
}

crate::words! {
    /// Why a subscription is disabled.
    pub enum DisabledReason {
        /// Somebody wanted it so.
        Requested = "requested",
        /// Its endpoint answered 410.
        Gone = "gone",
        /// Every delivery failed for five days.
        Failing = "failing",
    }
}
