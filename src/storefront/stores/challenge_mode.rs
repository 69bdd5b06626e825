//! When a store asks for a challenge.

crate::text_enum! {
    /// When customers of a store are asked to solve the challenge of the deployment, if it has one.
    pub enum ChallengeMode, default Risk {
        /// Never.
        Off = "off",
        /// When a request is suspicious.
        Risk = "risk",
        /// With every request of the routes that send codes, register or take guesses.
        Always = "always",
    }
}
