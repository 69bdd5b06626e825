//! What a link is good for.

/// What a link is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(super) enum Purpose {
    /// Signing in.
    SignIn,
    /// Choosing a password.
    Password,
    /// Proving the second factor, after the first.
    SecondStep,
}
