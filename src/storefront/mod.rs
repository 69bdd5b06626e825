//! The storefront: registration, sign-in and sessions for the customers of one store (interface 1).
//!
//! Every request identifies its store by a publishable key. A signed-in customer also sends a token. Neither of them proves an
//! identity: only a verification code, a password or an identity provider does.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! series                    the series that the counters have from the start
//! resources                 the API for operators
//! receipts                  what SMS providers report of texts
//! moving_in                 customers of other services, many at a time
//! accounts                  the flows behind the routes of customers
//! card                      secrets for the card provider's SDK, and the customer's record at the provider
//! access_tokens             JWTs for services that cannot ask whether a session is alive
//! routes                    how a route is mounted and described
//! codes                     verification codes: issued, judged, consumed
//! sending  access           the limits of the routes that send and of mails; who is calling
//! state                     the data that the handlers share
//! settings                  the settings, and the times that follow from them
//! sms_guard                 what a text must pass before it is sent
//! new_codes                 codes that take the place of older ones
//! company_providers         identity providers of companies, in place of those of the deployment
//! challenges                what a suspicious request has to show
//! registration_hooks        servers of companies that are asked before a customer registers
//! message_providers         what the texts and mails of companies are sent by, likewise
//! company_wordings          the wording of companies, over that of the deployment
//! caches  messages          sessions, stores and key sets; the wording of texts and mails
//! tokens                    tokens of customers: issued, looked up, revoked
//! audit                     every attempt to sign in
//! customers                 accounts, and which identities belong to them
//! passkeys                  what authenticators answer: verified, and the public keys of customers
//! stores  passwords         stores with their keys and limits; rules for new passwords, and lock-outs by wrong ones
//! second_factors            authenticator apps, recovery codes, and sign-ins that wait for one of both
//! guessing                  what a wrong guess costs the client that makes it
//! test_identities           numbers and addresses whose codes are fixed
//! purpose  metrics          what a code is for; what is counted of codes, texts and sign-ins
//! ```
//!
//! * [`codes`] counts a guess and commits before anybody learns how it compares. Parallel guesses wait for each other's counts and therefore
//!   never get more than five comparisons out of one code.
//! * [`guessing`] says how guesses are limited: by account, by client, and by both. Strangers do not lock out a customer on a device that the
//!   customer has used before.
//! * [`challenges`] asks suspicious requests for what programs cannot show cheaply. It lifts the softer rules of the guard and no other limit.
//! * [`sms_guard`] is the guard that every text passes. Its table `texts` is the log; what a store's day has brought is counted beside it.
//! * [`customers`]: an identity *belongs* to an account only once it is proven, by a code sent to it or by an identity provider. An
//!   unproven identity is stored and shown, but it never receives its owner's code, never clears the count of wrong guesses, and is
//!   removed from the account as soon as another account proves it. An attacker therefore cannot prepare an account with a stranger's
//!   identity and wait for that stranger to use it.
//! * [`accounts::social`] signs customers in with identity providers. An address that a provider vouches for counts as proven.
//! * [`second_factors`]: a customer may have one. Every first factor then opens no session but a pending sign-in, and one function says so
//!   for all ways in (`accounts::signed_in`).
//! * [`accounts`] takes a [`access::FreshCustomer`] for what would turn a stolen token into the account: contacts, password, providers. What
//!   happened is told to every proven contact ([`sending::notices`]), and a changed contact can be taken back ([`accounts::take_back`]).
//! * [`audit`] records sign-ins: a successful one in the statement that issues the token ([`tokens`]), and a refused one after the
//!   refusal.
//! * [`caches`]: an instance evicts a row at once when it changes it. A revoked session therefore ends at once on the instance that
//!   revoked it, and within one second on every other instance.
//!
//! Guaranteed: transactions that lock several rows lock accounts first, in the order of their ids, then their codes, then the
//! counters, so they cannot deadlock.
//!
//! Not guaranteed: a text that a provider accepted may not arrive. The general throttle is counted in the memory of each
//! instance. All other limits are counted in Postgres and hold for any number of instances.

mod access;
mod access_tokens;
mod accounts;
mod audit;
mod caches;
mod card;
mod challenges;
mod codes;
mod company_providers;
mod company_wordings;
mod customers;
mod guessing;
mod message_providers;
mod messages;
mod metrics;
mod moving_in;
mod new_codes;
mod passkeys;
mod passwords;
mod purpose;
mod receipts;
mod registration_hooks;
mod resources;
mod routes;
mod second_factors;
mod sending;
mod series;
mod settings;
mod sms_guard;
mod state;
mod stores;
mod test_identities;
mod tokens;

use chrono::TimeDelta;

use crate::kernel::rate_limit;
use crate::kernel::sealed_values::SealedColumn;
use crate::kernel::steps::{Steps, Unfinished};

pub use access::SignedInCustomer;
pub use accounts::ending::{end_all_of_company, end_session_of_company};
pub use accounts::export::{Exported, export_customer};
pub use company_providers::CompanyProviders;
pub use company_wordings::CompanyWordings;
pub use customers::{ProvenContacts, company_of_customer, find_proven_contacts};
pub use message_providers::MessageProviders;
pub use messages::{Fault, Messages, MessagesError, Settings as MessagesSettings};
pub use moving_in::{Import, Options as ImportOptions, Report as ImportReport};
pub use receipts::{receipt_description, receipt_routes};
pub use registration_hooks::RegistrationHooks;
pub use resources::{LARGER_BODY, StoreBody, StoreRecord, Stores, extension as operator_extension};
pub use routes::{PATH, Routes, describe};
pub use settings::Settings;
pub use state::{Parts, Storefront};
pub use stores::{ListedStoreKey, StoreKey, company_of_store_key, create_store_key, list_store_keys, list_stores, revoke_store_key};
pub use tokens::{Presented as PresentedToken, TokenId, company_of_session, is_signed_in, number_tokens_of};

use accounts::{
    bans, change_password, closure, contact_change, devices, erasure, passkeys as own_passkeys, password_reset, profile, registration,
    second_factor, sessions, sign_in, social, step_up, take_back,
};
use sending::notices;

/// The columns that hold secrets.
pub const SEALED: [SealedColumn; 7] = [
    devices::SEALED,
    social::SEALED,
    company_providers::SEALED,
    message_providers::SEALED,
    registration_hooks::SEALED[0],
    registration_hooks::SEALED[1],
    second_factors::SEALED,
];

impl Storefront {
    /// Removes expired counters from the memory of this instance. Called about once a minute.
    pub fn sweep_memory(&self) {
        self.throttle.sweep();
        self.unknown_keys.sweep();
        self.refusals.sweep(self.clock.now());
    }

    /// Deletes expired data: windows of limits that have passed, codes and tallies of wrong guesses older than a day (a month if they locked
    /// somebody out or are those of an account), clients that nobody signed in from for 90 days, sessions that ended more than 90 days ago,
    /// and sign-ins and texts older than 90 days. Counts what came in for the figures. Blanks the personal data of accounts that were closed
    /// longer than `storefront.erase_after` ago. Lifts the bans that end. Revokes the grants of identity providers that have ended. A periodic
    /// task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), Unfinished> {
        let (now, mut steps) = (self.clock.now(), Steps::on(&self.pool));
        let (a_day_ago, long_ago, counted_until) = (now - TimeDelta::days(1), now - audit::RETENTION, now - audit::COUNTED_AFTER);
        steps.run("rate_limits", async |conn| rate_limit::sweep(conn, now).await).await;
        steps.run("used_identity_tokens", async |conn| social::sweep_used_tokens(conn, now).await).await;
        steps.run("presented_identity_tokens", async |conn| social::sweep_presented_tokens(conn, now).await).await;
        steps.run("answered_challenges", async |conn| passkeys::sweep_challenges(conn, now).await).await;
        steps.run("devices", async |conn| devices::sweep_devices(conn, a_day_ago, now).await).await;
        // An expired code has no effect any more, and neither has a tally of wrong codes that locked nobody out, a day later.
        steps.run("verification_codes", async |conn| codes::sweep_codes(conn, a_day_ago).await).await;
        steps.run("wrong_codes", async |conn| codes::sweep_wrong_codes(conn, a_day_ago).await).await;
        steps.run("wrong_codes of lock-outs", async |conn| codes::sweep_lockouts(conn, a_day_ago).await).await;
        steps.run("pending_sign_ins", async |conn| second_factors::sweep_pending(conn, now).await).await;
        steps.run("authenticators", async |conn| second_factors::sweep_offers(conn, now).await).await;
        steps.run("wrong_passwords", async |conn| passwords::sweep_wrong_passwords(conn, now).await).await;
        steps.run("wrong_passwords of lock-outs", async |conn| passwords::sweep_lockouts(conn, now).await).await;
        steps.run("known_clients", async |conn| guessing::forget_old_clients(conn, now).await).await;
        if let Some(closed_before) = self.settings.erases_closed_before(now) {
            steps.run("closed accounts", async |conn| erasure::erase_due(conn, closed_before, now).await).await;
        }
        steps.run("bans", async |conn| bans::lift_ended(conn, now).await).await;
        steps.run("sign_ins", async |conn| audit::forget_sign_ins(conn, long_ago).await).await;
        steps.run("customer_tokens", async |conn| tokens::forget_ended(conn, long_ago).await).await;
        steps.run("texts", async |conn| sms_guard::forget_texts(conn, long_ago).await).await;
        steps.run("notices", async |conn| notices::forget_notices(conn, long_ago).await).await;
        steps.run("contact_changes", async |conn| take_back::forget_changes(conn, now).await).await;
        steps.run("figures of sign-ins", async |conn| audit::count_hours(conn, counted_until).await).await;
        steps.run("figures of texts", async |conn| sms_guard::count_hours(conn, counted_until).await).await;
        steps.run("sign_in_hours", async |conn| audit::forget_hours(conn, long_ago).await).await;
        steps.run("text_hours", async |conn| sms_guard::forget_hours(conn, long_ago).await).await;
        steps.run("text_minutes", async |conn| sms_guard::forget_minutes(conn, now).await).await;
        steps.run("ends of pauses", async |conn| sms_guard::end_due_pauses(conn, now).await).await;
        steps.run("text_pauses", async |conn| sms_guard::forget_pauses(conn, now).await).await;
        steps.run_apart("mails about pauses", sms_guard::mail_pauses(&self.pool, &self.mail, now)).await;
        steps.run_apart("provider_grants", social::give_grants_back(self, now)).await;
        steps.finish()
    }
}

/// Every route below [`PATH`], together with `guests`: routes of other modules that require a store key, as all do that are not public.
pub fn routes<S>(storefront: &Storefront, guests: Routes<S>) -> Routes<S>
where
    S: Clone + Send + Sync + 'static,
{
    let own = [
        registration::routes(),
        sign_in::routes(),
        social::routes(storefront),
        own_passkeys::routes(),
        password_reset::routes(),
        profile::routes(),
        contact_change::routes(),
        sessions::routes(),
        step_up::routes(),
        second_factor::routes(),
        change_password::routes(),
        take_back::routes(),
        devices::routes(),
        card::routes(storefront.card.name()),
        access_tokens::routes(),
        closure::routes(),
    ];
    let own = own.into_iter().fold(Routes::none(), Routes::merge);
    let admitted = own.with_state(storefront.clone()).merge(guests).with_access_check(storefront);
    admitted.merge(access_tokens::public_routes().with_state(storefront.clone()))
}
