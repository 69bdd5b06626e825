//! The channels that a code can be sent through.

/// How a code is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    Sms,
    Email,
}

impl Channel {
    pub const ALL: [Self; 2] = [Self::Sms, Self::Email];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::Email => "email",
        }
    }
}
