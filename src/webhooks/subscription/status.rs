//! Whether a subscription is enabled or paused, and why it is disabled.

crate::text_enum! {
    /// Whether deliveries are made.
    pub enum Status, default Enabled {
        /// Deliveries are made.
        Enabled = "enabled",
        /// Deliveries are made and held: no attempt begins until the webhook is resumed.
        Paused = "paused",
        /// No deliveries are made. Events that are published meanwhile are not delivered later.
        Disabled = "disabled",
    }
}

crate::text_enum! {
    /// Why a webhook is disabled.
    pub enum DisabledReason {
        /// It was disabled by request.
        Requested = "requested",
        /// Its endpoint responded with 410.
        Gone = "gone",
        /// All deliveries failed for five days.
        Failing = "failing",
    }
}
