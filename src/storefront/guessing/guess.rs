//! A guess, and how the client that makes it stands.

use std::num::NonZeroU32;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use uuid::Uuid;

use crate::kernel::clock::seconds_until;
use crate::kernel::crypto::sha256;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::guessing::Client;

/// The time in which the failures of a network count (`storefront.failures_per_address`).
pub(super) const NETWORK_WINDOW: TimeDelta = TimeDelta::minutes(15);
/// Wrong guesses at one subject from one place: two lock-outs, so that nobody keeps another one locked out from there.
pub(super) const HERE: Rule = Rule { limit: 20, window: TimeDelta::hours(24) };
/// The wrong guesses of [`HERE`] up to which a known client is favoured.
const ALLOWANCE: i64 = 5;

/// What is guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Code,
    Password,
    /// A code of the authenticator app, which only somebody guesses who has the first factor.
    SecondFactor,
    /// What an identity provider has signed. It is not a guess at anybody, so it counts by the network alone.
    Proof,
}

impl Kind {
    /// The kinds at a subject whose failures are taken back when a guess of this kind was right. The first factor alone does not excuse
    /// wrong guesses at the second one.
    fn takes_back(self) -> &'static [Self] {
        match self {
            Self::SecondFactor => &[Self::Code, Self::Password, Self::SecondFactor],
            Self::Code | Self::Password | Self::Proof => &[Self::Code, Self::Password],
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Password => "password",
            Self::SecondFactor => "second_factor",
            Self::Proof => "proof",
        }
    }
}

/// A guess of a client of a store.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    pub store: StoreId,
    pub client: Client,
    pub kind: Kind,
    /// `storefront.failures_per_address`
    pub failures_per_address: NonZeroU32,
    pub now: DateTime<Utc>,
}

impl Guess {
    /// The networks of the client, each with its limit over all subjects.
    pub(super) fn networks(&self) -> impl Iterator<Item = (IpNet, Rule)> {
        rate_limit::by_network(self.client.network, Rule { limit: self.failures_per_address.get(), window: NETWORK_WINDOW })
    }

    /// The bucket of one of these networks.
    pub(super) fn bucket_of(&self, network: IpNet) -> String {
        format!("{}{network}", of_store(self.store))
    }

    pub fn network_buckets(&self) -> Vec<String> {
        self.networks().map(|(network, _)| self.bucket_of(network)).collect()
    }

    /// The limits of [`Self::network_buckets`].
    pub fn network_limits(&self) -> Vec<i64> {
        self.networks().map(|(_, rule)| rule.limit.into()).collect()
    }

    /// What the bucket at one subject begins with.
    pub fn here_prefix(&self) -> String {
        format!("{}:{}:", self.bucket_of(self.client.place), self.kind.as_str())
    }

    /// The bucket at one subject.
    pub(super) fn here_bucket(&self, subject: &str) -> String {
        format!("{}{}", self.here_prefix(), digest(subject))
    }

    /// What the buckets at one subject begin with that are taken back.
    pub fn taken_back_prefixes(&self) -> Vec<String> {
        self.kind.takes_back().iter().map(|kind| Self { kind: *kind, ..*self }.here_prefix()).collect()
    }

    /// The buckets at one subject that are taken back.
    pub(super) fn taken_back_buckets(&self, subject: &str) -> Vec<String> {
        self.taken_back_prefixes().into_iter().map(|prefix| prefix + &digest(subject)).collect()
    }

    pub fn network_since(&self) -> DateTime<Utc> {
        self.now - NETWORK_WINDOW
    }

    pub fn here_since(&self) -> DateTime<Utc> {
        self.now - HERE.window
    }

    pub fn here_limit(&self) -> i64 {
        HERE.limit.into()
    }

    pub fn allowance(&self) -> i64 {
        ALLOWANCE
    }
}

/// The account that guesses are counted under, if a subject is one.
pub fn account_of(subject: &str) -> Option<CustomerId> {
    Uuid::try_parse(subject).ok().map(CustomerId::from)
}

/// What the buckets of a store begin with.
pub(super) fn of_store(store: StoreId) -> String {
    format!("failures:{store}:")
}

/// What the buckets at a subject end with: a digest, because the subject may be personal.
pub(super) fn digest(subject: &str) -> String {
    hex::encode(sha256(subject))
}

/// How a client stands before a guess. Read by [`standing!`].
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether the customer has signed in from the client before, and the client has guessed wrong only a few times since.
    pub is_favoured: bool,
    /// Whether the client has guessed wrong at the subject before.
    pub has_failed: bool,
    /// Until when the client is refused without being counted.
    pub refused_until: Option<DateTime<Utc>>,
}

/// There were too many wrong guesses from here.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the client has guessed wrong too often")]
pub struct Exceeded {
    /// Seconds until another guess may be made.
    pub seconds: u64,
}

impl Standing {
    /// Whether the client may guess.
    pub fn admit(&self, now: DateTime<Utc>) -> Result<(), Exceeded> {
        self.refused_until.map_or(Ok(()), |until| Err(Exceeded { seconds: seconds_until(until, now) }))
    }
}

impl From<Exceeded> for Problem {
    fn from(Exceeded { seconds }: Exceeded) -> Self {
        Self::new(ProblemCode::GuessesExceeded).retry_after(seconds)
    }
}

/// A query about a guess. `$subject` are the expressions of a `with` that end with `subject`: one row with the columns `subject` and
/// `customer_id`, the account that it is, if it is one. `$rest` reads `standing`, which is that row and the fields of [`Standing`]. The
/// parameters of both start at `$11`; `$1` is the store and `$2` the time of the guess.
macro_rules! standing {
    ($subject:literal, $rest:literal, $guess:expr $(, $more:expr)*) => {
        sqlx::query!(
            "with " + $subject + r#", counts as (
             select subject.subject, subject.customer_id, networks.used_up_since, here.hits as at_subject, here.oldest as oldest_at_subject,
                    exists (select from known_clients where known_clients.customer_id = subject.customer_id and client = $5) as is_known
             from subject,
                  lateral (select max(oldest) as used_up_since from (
                      select min(hit) as oldest from unnest($3::text[], $7::bigint[]) as network (name, most), rate_limits, unnest(hits) as hit
                      where bucket = network.name and hit > $6 group by network.name, network.most having count(*) >= network.most
                  ) as used_up) as networks,
                  lateral (select count(*) as hits, min(hit) as oldest from rate_limits, unnest(hits) as hit
                           where bucket = $4 || encode(sha256(convert_to(subject.subject, 'UTF8')), 'hex') and hit > $8) as here
         ), standing as (
             select subject, customer_id, is_known and at_subject < $10 as is_favoured, at_subject > 0 as has_failed,
                    case when is_known and at_subject < $10 then null
                         when used_up_since is not null then used_up_since + ($2::timestamptz - $6::timestamptz)
                         when at_subject >= $9 then oldest_at_subject + ($2::timestamptz - $8::timestamptz) end as refused_until
             from counts
         ), "# + $rest,
            $guess.store.uuid(),
            $guess.now,
            &$guess.network_buckets(),
            $guess.here_prefix(),
            $guess.client.mark.as_slice(),
            $guess.network_since(),
            &$guess.network_limits(),
            $guess.here_since(),
            $guess.here_limit(),
            $guess.allowance(),
            $($more,)*
        )
    };
}
pub(crate) use standing;
