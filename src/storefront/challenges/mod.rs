//! Challenges: what a program cannot solve cheaply is asked for before a suspicious request is refused (decisions, section 5).
//!
//! A deployment has at most one kind of challenge (`[storefront.challenge]`), and a store says when it is asked for ([`ChallengeMode`]). With
//! `risk`, which is the default, it is in two places:
//!
//! * [`Challenges::admit`], before a request is worked on: if clients of its network have made half of the wrong guesses that they may
//!   ([`Suspects`]);
//! * [`Challenges::require`], after the SMS guard has judged a text and found that it is one for whom a solved challenge makes a difference
//!   ([`sms_guard`](crate::storefront::sms_guard)).
//!
//! An app that is refused with `challenge_required` has the challenge solved and repeats the request with the token. A token counts once: its
//! provider sees to that, and its digest is remembered for as long as it could be repeated, by all instances.
//!
//! A challenge is a price and no proof: people are paid for solving them. So it never lifts what bounds a loss (lock-outs, guesses of a network,
//! texts to a number, budgets). If nobody can verify a token, requests are judged as if nothing could be asked for, or refused, as the settings
//! say. Nothing is open or held meanwhile. A request that is not asked costs a look at the memory of its instance.

mod answer;

use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};

use crate::kernel::crypto::sha256;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::providers::challenge::{ChallengeService, VerifyError, WhenUnavailable};
use crate::storefront::guessing::Suspects;
use crate::storefront::metrics::Metrics;
use crate::storefront::stores::{ChallengeMode, Store};
use answer::Token;

pub use answer::ChallengeAnswer;

/// A token is good for one request. The providers' are valid for two to five minutes.
const ONCE: Rule = Rule { limit: 1, window: TimeDelta::minutes(15) };

/// What the customer reads who sent a token that does not count.
const NOT_SOLVED: &str = "The check that you are not a program was not passed, or was used before. Please try again.";

/// How a request stands to the challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing can be asked for: the rules are those of a store without a challenge.
    NotOffered,
    /// It may be asked for, and no token was sent.
    Offered,
    /// It may be asked for, and a token was sent that nobody has looked at.
    Answered,
    /// It was solved.
    Solved,
}

/// What a request that was admitted shows.
#[derive(Clone, Debug)]
pub struct Shown {
    pub standing: Standing,
    /// `None` on routes that ask for nothing.
    answer: Option<ChallengeAnswer>,
}

impl Shown {
    /// That of a route that asks for nothing.
    pub fn nothing() -> Self {
        Self { standing: Standing::NotOffered, answer: None }
    }
}

/// Asks for challenges and has their answers verified.
#[derive(Debug)]
pub struct Challenges {
    service: ChallengeService,
    pool: Pool,
    /// The networks that have guessed wrong often.
    pub(super) suspects: Suspects,
    metrics: Metrics,
}

impl Challenges {
    pub fn new(service: ChallengeService, pool: Pool, metrics: Metrics) -> Self {
        Self { service, pool, suspects: Suspects::new(), metrics }
    }

    /// Lets a request to the store through, unless a challenge is asked for and not solved.
    pub async fn admit(&self, store: &Store, answer: ChallengeAnswer, now: DateTime<Utc>) -> Result<Shown, Problem> {
        let network = answer.address.network();
        let standing = match store.challenge {
            _ if self.service.kind().is_none() => Standing::NotOffered,
            ChallengeMode::Off => Standing::NotOffered,
            ChallengeMode::Risk if !self.is_suspicious(store, network, now) => {
                if answer.has_token() {
                    Standing::Answered
                } else {
                    Standing::Offered
                }
            }
            ChallengeMode::Risk | ChallengeMode::Always => self.verify(store.id, &answer, now).await?,
        };
        Ok(Shown { standing, answer: Some(answer) })
    }

    fn is_suspicious(&self, store: &Store, network: IpNet, now: DateTime<Utc>) -> bool {
        self.suspects.has(store.id, network, now)
    }

    /// Asks for a challenge after all. Returns how the request stands if it is solved, or if nobody can say.
    pub async fn require(&self, store: StoreId, shown: &Shown, now: DateTime<Utc>) -> Result<Standing, Problem> {
        match &shown.answer {
            Some(answer) => self.verify(store, answer, now).await,
            None => Ok(Standing::NotOffered),
        }
    }

    async fn verify(&self, store: StoreId, answer: &ChallengeAnswer, now: DateTime<Utc>) -> Result<Standing, Problem> {
        let token = match &answer.token {
            Token::Missing => return Err(self.asked()),
            Token::Unusable => return Err(self.refused("unusable")),
            Token::Sent(token) => token,
        };
        // Boxed, so that requests that are not asked do not carry its state.
        match Box::pin(self.service.verify(token, (store, answer.address), now)).await {
            Ok(Ok(())) if !self.is_new(token, now).await? => Err(self.refused("repeated")),
            Ok(Ok(())) => {
                self.metrics.challenged("solved");
                Ok(Standing::Solved)
            }
            Ok(Err(flaw)) => {
                tracing::info!(%flaw, "the token of a challenge was refused");
                Err(self.refused("not_solved"))
            }
            // Who floods is told to come back, whatever the settings say of a service that is away.
            Err(VerifyError::Full) => Err(Problem::new(ProblemCode::Overloaded).retry_after(1)),
            Err(error) => {
                tracing::warn!(error = chain(&error), "the token of a challenge could not be verified");
                self.metrics.challenged("not_verified");
                match self.service.when_unavailable() {
                    WhenUnavailable::Allow => Ok(Standing::NotOffered),
                    WhenUnavailable::Refuse => Err(ProblemCode::ProviderUnavailable.into()),
                }
            }
        }
    }

    /// Whether the token was not sent before, to any instance.
    async fn is_new(&self, token: &SecretString, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
        let bucket = format!("challenge:{}", hex::encode(sha256(token.expose_secret())));
        Ok(rate_limit::hit(&mut self.pool.acquire().await?, &bucket, ONCE, now).await?.allowed)
    }

    fn asked(&self) -> Problem {
        self.metrics.challenged("asked");
        self.problem()
    }

    fn refused(&self, outcome: &'static str) -> Problem {
        self.metrics.challenged(outcome);
        self.problem().detail(NOT_SOLVED)
    }

    /// What the app needs to have the challenge solved.
    fn problem(&self) -> Problem {
        let problem = Problem::new(ProblemCode::ChallengeRequired);
        let Some((kind, site_key)) = self.service.kind() else { return problem };
        problem.member("kind", kind.as_str()).member("site_key", site_key)
    }
}
