//! The closed list of problem codes, each with its status code, title and default detail.

use axum::http::StatusCode;

macro_rules! problem_codes {
    ($($Code:ident, $status:literal, $code:literal, $title:literal, $detail:literal;)*) => {
        /// Every problem code of the service; documented in `docs/problems.md` and served at `/problems/{code}`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProblemCode { $(#[doc = $detail] $Code,)* }

        impl ProblemCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$Code,)*];

            /// The value of `code`.
            pub fn as_str(self) -> &'static str { match self { $(Self::$Code => $code,)* } }
            /// The HTTP status code.
            pub fn status(self) -> StatusCode {
                StatusCode::from_u16(match self { $(Self::$Code => $status,)* }).expect("the list contains valid HTTP status codes only")
            }
            /// A title of two or three words.
            pub fn title(self) -> &'static str { match self { $(Self::$Code => $title,)* } }
            /// The default detail; a problem may replace it with a more specific one.
            pub fn detail(self) -> &'static str { match self { $(Self::$Code => $detail,)* } }
        }
    };
}

problem_codes! {
    // all routes
    BadRequest, 400, "bad_request", "Bad request", "The request could not be understood.";
    JsonInvalid, 400, "json_invalid", "JSON invalid", "The body is not valid JSON.";
    RouteUnknown, 404, "route_unknown", "Route unknown", "There is nothing at this address.";
    MethodNotAllowed, 405, "method_not_allowed", "Method not allowed", "This address does not take this method.";
    RequestTimeout, 408, "request_timeout", "Request timed out", "The request took too long to arrive.";
    BodyTooLarge, 413, "body_too_large", "Body too large", "The body is larger than this address takes.";
    AddressTooLong, 414, "address_too_long", "Address too long", "The address of the request is too long.";
    MediaTypeUnsupported, 415, "media_type_unsupported", "Media type unsupported", "The body must be JSON (Content-Type: application/json).";
    BodyInvalid, 422, "body_invalid", "Body invalid", "The body does not have the form this address takes.";
    ParameterInvalid, 422, "parameter_invalid", "Parameter invalid", "A parameter of the address is unknown or has no valid value.";
    RateLimited, 429, "rate_limited", "Too many requests", "Too many requests. Please wait a moment.";
    HeadersTooLarge, 431, "headers_too_large", "Headers too large", "The headers of the request are too large.";
    Internal, 500, "internal_error", "Internal error", "Something went wrong on our side.";
    Overloaded, 503, "overloaded", "Overloaded", "The service is busy. Please try again in a moment.";
    DatabaseUnavailable, 503, "database_unavailable", "Database unavailable", "The service cannot reach its database. Please try again in a moment.";
    NotReady, 503, "not_ready", "Not ready", "This instance should get no requests now.";
    // keys and tokens
    StoreKeyInvalid, 401, "store_key_invalid", "Store key invalid", "The store key is missing, malformed, unknown or revoked.";
    CustomerTokenInvalid, 401, "customer_token_invalid", "Customer token invalid", "Please sign in again.";
    ApiKeyInvalid, 401, "api_key_invalid", "API key invalid", "The API key is missing, malformed, unknown or revoked.";
    ScopeMissing, 403, "scope_missing", "Scope missing", "This API key does not have the scope the request needs.";
    CompanySuspended, 403, "company_suspended", "Company suspended", "The company is suspended.";
    CompanyMoving, 503, "company_moving", "Company moving", "The company is being moved. Please try again in a moment.";
    AddressForbidden, 403, "address_forbidden", "Address forbidden", "This API key may not be used from this address.";
    ApiKeyTooStrong, 403, "api_key_too_strong", "API key too strong", "An API key cannot give access that reaches further or lasts longer than itself.";
    ApiKeyEnded, 422, "api_key_ended", "API key ended", "This API key is revoked or has expired already.";
    // codes
    CodeInvalid, 422, "code_invalid", "Code invalid", "This code is not valid.";
    CodeUsed, 422, "code_used", "Code used", "This code has been used already. Please use another one.";
    CodeExpired, 422, "code_expired", "Code expired", "This code has expired. Please request a new one.";
    CodeLocked, 422, "code_locked", "Code locked", "Too many wrong guesses. Please request a new code.";
    IdentityLockedOut, 429, "identity_locked_out", "Identity locked out", "Too many wrong codes. Please wait before trying again.";
    ChallengeRequired, 403, "challenge_required", "Challenge required", "Please confirm that you are not a program, and try again.";
    // customers
    CredentialsInvalid, 401, "credentials_invalid", "Credentials invalid", "The identity or the password is wrong.";
    GuessesExceeded, 429, "guesses_exceeded", "Too many wrong guesses", "Too many wrong codes or passwords came from here. Please wait before trying again.";
    PasswordAttemptsExceeded, 429, "password_attempts_exceeded", "Too many wrong passwords", "Too many wrong passwords. Please wait before trying again.";
    AccountExists, 422, "account_exists", "Account exists", "An account already exists for this identity.";
    PhoneTaken, 422, "phone_taken", "Phone taken", "This number already belongs to another account.";
    EmailTaken, 422, "email_taken", "Email taken", "This address already belongs to another account.";
    IdentityNotVerified, 401, "identity_not_verified", "Identity not verified", "The sign-in with this provider could not be verified. Please try again.";
    ProviderNotConfigured, 404, "provider_not_configured", "Provider not configured", "This shop does not offer this sign-in.";
    ProviderUnavailable, 503, "provider_unavailable", "Provider unavailable", "This sign-in is not available at the moment. Please try again or use another one.";
    RegistrationRefused, 403, "registration_refused", "Registration refused", "This shop did not accept the registration.";
    RegistrationHookUnavailable, 503, "registration_hook_unavailable", "Registration unavailable", "Nobody can register at the moment. Please try again in a moment.";
    AccountBanned, 403, "account_banned", "Account banned", "This account is banned. Please contact the shop.";
    AccountClosed, 409, "account_closed", "Account closed", "This account is closed.";
    FreshSignInRequired, 403, "fresh_sign_in_required", "Fresh sign-in required", "Please confirm that it is you, with a code, your password or by signing in again.";
    SecondFactorRequired, 403, "second_factor_required", "Second factor required", "Please enter a code of your authenticator app, or a recovery code.";
    SecondFactorExpired, 422, "second_factor_expired", "Second factor expired", "This sign-in has taken too long. Please sign in again from the beginning.";
    SecondFactorNotOffered, 404, "second_factor_not_offered", "Second factor not offered", "This shop does not offer a second factor.";
    SecondFactorEnabled, 409, "second_factor_enabled", "Second factor enabled", "Your account has a second factor already. Please remove it first.";
    ProviderLinkSuspended, 409, "provider_link_suspended", "Provider link suspended", "Please sign in another way, and link this provider to your account again.";
    ProviderLinkedElsewhere, 409, "provider_linked_elsewhere", "Provider linked elsewhere", "This identity belongs to another account.";
    PasskeysNotConfigured, 404, "passkeys_not_configured", "Passkeys not configured", "This shop does not take passkeys.";
    PasskeyNotVerified, 401, "passkey_not_verified", "Passkey not verified", "The passkey could not be verified. Please try again, or sign in another way.";
    PasskeySuspended, 409, "passkey_suspended", "Passkey suspended", "Please sign in another way, and confirm that this passkey is yours.";
    PasskeyTaken, 409, "passkey_taken", "Passkey taken", "This passkey belongs to an account already.";
    TooManyPasskeys, 409, "too_many_passkeys", "Too many passkeys", "This account has as many passkeys as it can have. Please remove one first.";
    LastWayIn, 409, "last_way_in", "Last way in", "This is the only way to sign in to your account. Please add another one first.";
    ContactMissing, 422, "contact_missing", "Contact missing", "This account has no verified phone number or email address to send a code to.";
    ContactsTooNew, 422, "contacts_too_new", "Contacts too new", "Your contacts were changed less than seven days ago. Please close your account later.";
    CustomerNotFound, 422, "customer_not_found", "Customer not found", "There is no account with this number or address.";
    // texts and mails
    NumberInvalid, 422, "number_invalid", "Number invalid", "This is not a valid phone number.";
    NumberUnreachable, 422, "number_unreachable", "Number unreachable", "This number cannot receive a text.";
    NumberUnproven, 422, "number_unproven", "Number unproven", "This number has not been verified. Please sign in with your email address or password.";
    NumberCooldown, 429, "number_cooldown", "Number cooling down", "A text was sent to this number a moment ago. Please wait before asking again.";
    RangeCooldown, 429, "range_cooldown", "Range cooling down", "Too many texts were sent to numbers like this one. Please wait before asking again.";
    TextBudgetUsed, 429, "text_budget_used", "Text budget used", "This shop has used its texts for today.";
    TextsPaused, 423, "texts_paused", "Texts paused", "Texts are paused for this shop. Please use email or your password.";
    TextsUnavailable, 422, "texts_unavailable", "Texts unavailable", "This shop does not send texts.";
    EmailCooldown, 429, "email_cooldown", "Mail address cooling down", "Too many mails were sent to this address. Please wait before asking again.";
    TestIdentityExpired, 422, "test_identity_expired", "Test identity expired", "This number or address is for tests, and its time is over.";
    EmailUnreachable, 422, "email_unreachable", "Mail address unreachable", "No mail can be delivered to this address. Please check it.";
    MessageNotSent, 502, "message_not_sent", "Message not sent", "The message could not be sent. Please try again.";
    // cards
    CardNotConfigured, 404, "card_not_configured", "Cards not configured", "This shop does not take cards.";
    CardProviderFailed, 502, "card_provider_failed", "Card provider failed", "The card provider did not answer as it should. Please try again.";
    // the socket server
    AccessTokensNotConfigured, 404, "access_tokens_not_configured", "Access tokens not configured", "This service issues no access tokens.";
    SocketNotConfigured, 404, "socket_not_configured", "Socket not configured", "The socket server takes no token here. Connect without one.";
    SocketSignatureInvalid, 401, "socket_signature_invalid", "Socket signature invalid", "The signature of the socket server is missing, wrong or too old.";
    // extension resources
    RecordNotFound, 404, "record_not_found", "Record not found", "There is no such record.";
    RecordChanged, 412, "record_changed", "Record changed", "The record has changed since it was read.";
    RecordInUse, 409, "record_in_use", "Record in use", "Another record still needs this one.";
    TransitionInvalid, 422, "transition_invalid", "Transition invalid", "The order cannot go from its status to this one.";
    // gateways
    CompanyMismatch, 403, "company_mismatch", "Company mismatch", "The callback names another company than the API key's.";
    GatewayNotConfigured, 404, "gateway_not_configured", "Gateway not configured", "There is no active gateway here that takes callbacks.";
    GatewayAmbiguous, 422, "gateway_ambiguous", "Gateway ambiguous", "Several gateways could have sent this. Name one with gateway_uuid or X-Gateway-ID.";
    CallbackNotGenuine, 400, "callback_not_genuine", "Callback not genuine", "The signature of the callback is missing, wrong or too old.";
    CallbackNotUnderstood, 400, "callback_not_understood", "Callback not understood", "The callback does not hold what the gateway's driver needs.";
    CallbackRefused, 422, "callback_refused", "Callback refused", "This callback was refused as not genuine and is never processed.";
    // events
    IdempotencyKeyUsed, 409, "idempotency_key_used", "Idempotency key used", "This idempotency key was used for something else in the last 24 hours.";
    // webhooks
    EndpointForbidden, 422, "endpoint_forbidden", "Endpoint forbidden", "Webhooks are sent to public addresses only, and none was found for this endpoint.";
    DeliveryOpen, 409, "delivery_open", "Delivery open", "This delivery has not ended yet. Failed attempts are retried automatically.";
    DeliveryClosed, 409, "delivery_closed", "Delivery closed", "This delivery has ended and cannot be cancelled.";
    ReplayUnderWay, 409, "replay_under_way", "Replay under way", "Deliveries of this webhook with this status are being replayed. Ask again once that is finished.";
    WebhookPaused, 422, "webhook_paused", "Webhook paused", "This webhook is paused. Resume it first.";
    WebhookDisabled, 422, "webhook_disabled", "Webhook disabled", "This webhook is disabled. Enable it first.";
}

impl ProblemCode {
    /// The default code for a failed response that has only a status code.
    pub fn of_status(status: StatusCode) -> Self {
        match status.as_u16() {
            404 => Self::RouteUnknown,
            405 => Self::MethodNotAllowed,
            408 => Self::RequestTimeout,
            413 => Self::BodyTooLarge,
            414 => Self::AddressTooLong,
            415 => Self::MediaTypeUnsupported,
            422 => Self::BodyInvalid,
            429 => Self::RateLimited,
            431 => Self::HeadersTooLarge,
            503 => Self::Overloaded,
            400..=499 => Self::BadRequest,
            _ => Self::Internal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_have_an_error_status() {
        let mut names: Vec<_> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ProblemCode::ALL.len());
        assert!(ProblemCode::ALL.iter().all(|code| code.status().is_client_error() || code.status().is_server_error()));
    }
}
