//! What a message provider sends, and by which service.

crate::text_enum! {
    /// What a message provider sends.
    pub enum MessageChannel {
        /// Texts.
        Sms = "sms",
        /// Mails.
        Email = "email",
    }
}

crate::text_enum! {
    /// The service that a message provider is.
    pub enum ProviderKind {
        /// Any service that takes a text in one request.
        Http = "http",
        /// An account at Twilio.
        Twilio = "twilio",
        /// An account at Vonage.
        Vonage = "vonage",
        /// A mail server.
        Smtp = "smtp",
        /// The company's own endpoint.
        Webhook = "webhook",
    }
}

impl ProviderKind {
    /// Whether the service reports whether a text arrived.
    pub fn sends_receipts(self) -> bool {
        match self {
            Self::Twilio | Self::Vonage => true,
            Self::Http | Self::Smtp | Self::Webhook => false,
        }
    }
}
