//! Which columns hold secrets that the application key seals: `app::sealed_columns`, compared with the schema. And where they are sent.

use std::collections::BTreeSet;

use portico::app::sealed_columns;
use portico::kernel::sealed_values::{self, Resealing, SentTo};

use crate::support::World;
use crate::support::sealed_shop::Shop;

/// The other columns of bytes.
const NOT_SEALED: &[(&str, &str)] = &[
    ("_sqlx_migrations.checksum", "the file of a migration"),
    ("answered_challenges.nonce", "random, for five minutes"),
    ("api_keys.digest", "SHA-256 of a random key"),
    ("attempts.response_body", "what an endpoint responded"),
    ("authenticators.last_recovery_code", "SHA-256 of 120 random bits"),
    ("callbacks.body", "what a gateway sent"),
    ("contact_changes.digest", "a MAC, for seven days"),
    ("customer_recovery_codes.digest", "SHA-256 of 120 random bits"),
    ("customer_tokens.digest", "SHA-256 of a random token"),
    ("devices.token_digest", "SHA-256 of a token, which the sealed one is found by"),
    ("events.body", "what subscribers are sent"),
    ("events.trace", "the ids of the span that the event follows from"),
    ("known_clients.client", "SHA-256 of a network and a user agent"),
    ("operator_choices.digest", "SHA-256 of a random secret"),
    ("operator_links.digest", "SHA-256 of a random secret"),
    ("operator_recovery_codes.digest", "a MAC, which cannot be made again"),
    ("operator_recovery_codes.key_fingerprint", "the key of that MAC"),
    ("operator_sessions.token_digest", "SHA-256 of a random token"),
    ("pending_sign_ins.app", "SHA-256 of a user agent and a store key"),
    ("pending_sign_ins.digest", "SHA-256 of a random handle"),
    ("passkey_users.handle", "random, and no secret"),
    ("passkeys.credential_id", "a name that an authenticator made up"),
    ("passkeys.public_key", "a public key"),
    ("portal_links.digest", "SHA-256 of a random key"),
    ("portal_sessions.token_digest", "SHA-256 of a random token"),
    ("presented_identity_tokens.digest", "SHA-256 of a token"),
    ("publishing_keys.digest", "SHA-256 of a request"),
    ("replay_keys.digest", "SHA-256 of a request"),
    ("store_keys.digest", "SHA-256 of a random key"),
    ("used_identity_tokens.client", "SHA-256 of a network and a user agent"),
    ("used_identity_tokens.code_digest", "SHA-256 of an authorization code"),
    ("used_identity_tokens.digest", "SHA-256 of a token"),
    ("verification_codes.asked_by", "SHA-256 of a network, a user agent and a store key"),
    ("verification_codes.digest", "a MAC, for ten minutes"),
];

#[tokio::test]
async fn every_column_of_bytes_is_known_to_be_sealed_or_not() {
    let world = World::new().await;
    let stored: Vec<String> = sqlx::query_scalar(
        "select relname || '.' || attname from pg_class join pg_attribute on attrelid = pg_class.oid
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
           and atttypid in ('bytea'::regtype, 'bytea[]'::regtype) and attnum > 0 and not attisdropped",
    )
    .fetch_all(&world.pool)
    .await
    .unwrap();
    let sealed = sealed_columns().into_iter().map(|column| format!("{}.{}", column.table, column.column));
    let known: BTreeSet<_> = sealed.chain(NOT_SEALED.iter().map(|(column, _)| (*column).to_owned())).collect();
    assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), known);
    assert_eq!(known.len(), sealed_columns().len() + NOT_SEALED.len(), "none is both");
}

/// The columns whose values are sent to a service or an endpoint. All others stay here, or are shown to their owner.
const SENT: &[&str] = &[
    "gateways.secret_key",
    "provider_grants.sealed_token",
    "subscriptions.sealed_headers",
    "identity_providers.client_secret",
    "message_providers.secret",
];

/// The tables whose rows name the address, and how a row comes to name another one.
const MOVES: &[(&str, &str)] = &[
    ("subscriptions", "update subscriptions set url = 'https://elsewhere.test/hooks'"),
    ("identity_providers", "update identity_providers set token_url = 'https://elsewhere.test/token'"),
    ("message_providers", r#"update message_providers set kind = 'webhook', settings = '{"url": "https://elsewhere.test/"}'"#),
];

#[test]
fn every_secret_that_leaves_says_so() {
    let sent = sealed_columns().into_iter().filter(|column| !matches!(column.sent_to, SentTo::Nobody));
    let sent: BTreeSet<_> = sent.map(|column| format!("{}.{}", column.table, column.column)).collect();
    assert_eq!(sent, SENT.iter().map(|column| (*column).to_owned()).collect());
}

#[tokio::test]
async fn a_secret_that_is_sent_to_an_address_of_its_row_opens_for_no_other_one() {
    let shop = Shop::open().await;
    let (pool, key) = (&shop.world.pool, &shop.world.application_key);
    let named: Vec<_> = sealed_columns().into_iter().filter(|column| matches!(column.sent_to, SentTo::Named(..))).collect();
    let tables: BTreeSet<_> = named.iter().map(|column| column.table).collect();
    assert_eq!(tables, MOVES.iter().map(|(table, _)| *table).collect());
    let before = sealed_values::count(pool, key, &sealed_columns()).await.unwrap();
    assert!(before.lost.is_empty(), "{before:?}");
    for (_, moved) in MOVES {
        sqlx::query(*moved).execute(pool).await.unwrap();
    }
    let after = sealed_values::count(pool, key, &sealed_columns()).await.unwrap();
    let lost: BTreeSet<_> = after.lost.keys().copied().collect();
    assert_eq!(lost, named.iter().map(|column| column.content).collect());
    // Nor is one sealed for the other address when the key is replaced.
    for column in named {
        let batch = Resealing::new(pool, key, column).next().await.unwrap().unwrap();
        assert_eq!((batch.resealed, batch.lost.len()), (0, 1), "{}", column.content);
    }
}
