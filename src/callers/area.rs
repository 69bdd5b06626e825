//! The parts of a company's data.

/// A part of a company's data. The roles of operators differ by how far they reach in each; an API key reaches equally far in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Area {
    /// Customers with their sign-ins, sessions and texts.
    Customers,
    /// Orders, drivers, payments and the other records of the business.
    Business,
    /// What was published, sent and received: events, deliveries, replays and callbacks.
    Traffic,
    /// Where data goes and who gets in: webhooks, gateways, stores and API keys.
    Integration,
    /// Operators and the audit trail.
    Administration,
}

impl Area {
    /// All areas.
    pub const ALL: [Self; 5] = [Self::Customers, Self::Business, Self::Traffic, Self::Integration, Self::Administration];

    /// The name, as messages to people contain it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::Business => "records",
            Self::Traffic => "events and deliveries",
            Self::Integration => "webhooks, stores and keys",
            Self::Administration => "operators and changes",
        }
    }
}
