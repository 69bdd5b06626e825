//! The import of a file, batch by batch.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope};
use crate::kernel::clock::Clock;
use crate::kernel::database::{Connection, Pool, violated_constraint};
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::accounts::social;
use crate::storefront::customers;
use crate::storefront::moving_in::line::{self, Link, Newcomer, Refusal};
use crate::storefront::moving_in::report::Report;
use crate::storefront::stores;

/// How a file is imported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether what the file says of proofs counts: contacts that it calls verified are proven, and links to identity providers are taken.
    pub vouch: bool,
    /// Whether nothing is stored.
    pub dry_run: bool,
}

/// An import of one file into one store.
#[derive(Debug)]
pub struct Import {
    pool: Pool,
    clock: Clock,
    caller: Caller,
    store: StoreId,
    options: Options,
    /// What the lines so far have taken, because a dry run stores nothing that could tell.
    taken: Taken,
    is_recorded: bool,
    report: Report,
}

/// Newcomers, each with the number of the line.
type Numbered = Vec<(u64, Newcomer)>;

/// What belongs to one customer of a store only.
#[derive(Debug, Default)]
struct Taken {
    external_ids: HashSet<String>,
    emails: HashSet<String>,
    phones: HashSet<String>,
    links: HashSet<Link>,
}

impl Import {
    /// The number of lines that make a good batch.
    pub const BATCH: usize = 1_000;

    /// Begins an import into an open store of the caller's company. To vouch takes the scope `admin`: it decides what opens an account.
    pub async fn begin(pool: Pool, clock: Clock, caller: Caller, store: StoreId, options: Options) -> Result<Self, Problem> {
        caller.require(Area::Customers, if options.vouch { Scope::Admin } else { Scope::Write })?;
        let found = stores::list_stores(&mut pool.acquire().await?, caller.company).await?;
        if !found.iter().any(|(id, _)| *id == store) {
            return Err(ProblemCode::RecordNotFound.into());
        }
        let report = Report { dry_run: options.dry_run, ..Report::default() };
        Ok(Self { pool, clock, caller, store, options, taken: Taken::default(), is_recorded: false, report })
    }

    /// Takes the next lines, each with its number in the file: all that can be taken, in one transaction. Empty lines are skipped.
    pub async fn take(&mut self, lines: &[(u64, Vec<u8>)]) -> Result<(), Problem> {
        let now = self.clock.now();
        let mut read = Vec::new();
        for (number, line) in lines.iter().filter(|(_, line)| !line.trim_ascii().is_empty()) {
            match line::read(line, self.options.vouch, now) {
                Ok(newcomer) => read.push((*number, newcomer)),
                Err(refusal) => self.report.refuse(*number, refusal),
            }
        }
        if read.is_empty() {
            return Ok(());
        }
        let mut tx = self.pool.begin().await?;
        let newcomers = self.sift(&mut tx, read).await?;
        if self.options.dry_run || newcomers.is_empty() {
            self.report.created += newcomers.len() as u64;
            return Ok(());
        }
        let (opened, overtaken) = self.open(&mut tx, newcomers, now).await?;
        if !self.is_recorded {
            let (action, record) = (Action::Updated(&["customers"]), ChangedRecord::Store(self.store));
            audit_trail::record(&mut tx, &self.caller, action, record, now).await?;
        }
        tx.commit().await?;
        self.is_recorded = true;
        self.report.created += opened.len() as u64;
        for (number, _) in overtaken {
            self.report.refuse(number, Refusal::of("line", "A registration or another import has taken what is in it just now."));
        }
        Ok(())
    }

    /// Opens the accounts, and returns those that are open now and those that somebody was faster with.
    async fn open(&self, conn: &mut Connection, newcomers: Numbered, now: DateTime<Utc>) -> Result<(Numbered, Numbered), Problem> {
        let mut moved_in: Vec<_> = newcomers.iter().map(|(_, newcomer)| &newcomer.customer).collect();
        // In one order, so that two imports of the same customers do not deadlock.
        moved_in.sort_by(|one, other| one.external_id.cmp(&other.external_id));
        let inserted = customers::insert_moved_in(conn, (self.caller.company, self.store), &moved_in, now).await?;
        let (opened, overtaken): (Numbered, Numbered) =
            newcomers.into_iter().partition(|(_, newcomer)| inserted.contains(&newcomer.customer.id));
        let links_of = |(_, Newcomer { customer, links }): &(u64, Newcomer)| {
            let links = links.iter().cloned().map(|Link { provider, subject }| (customer.id, provider, subject));
            links.collect::<Vec<_>>()
        };
        let links: Vec<_> = opened.iter().flat_map(links_of).collect();
        match social::insert_links(conn, self.store, links, now).await {
            Ok(()) => Ok((opened, overtaken)),
            // A customer has signed in with it since it was looked up. The same lines again find out which.
            Err(error) if violated_constraint(&error) == Some("provider_links_pkey") => Err(ProblemCode::Overloaded.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the import. The refused lines are in the order of the file.
    pub fn end(mut self) -> Report {
        self.report.refused.sort_by_key(|(number, _)| *number);
        self.report
    }

    /// Leaves those whose customers are not there yet and who take nothing that another customer has.
    async fn sift(&mut self, conn: &mut Connection, read: Numbered) -> Result<Numbered, sqlx::Error> {
        let all = || read.iter().map(|(_, newcomer)| newcomer);
        let external_ids: Vec<_> = all().map(|newcomer| newcomer.customer.external_id.clone()).collect();
        let emails: Vec<_> = all().filter_map(|newcomer| Some(newcomer.customer.email.as_ref()?.key())).collect();
        let phones: Vec<_> = all().filter_map(|newcomer| Some(newcomer.customer.phone.as_ref()?.as_str().to_owned())).collect();
        let links: Vec<_> = all().flat_map(|newcomer| &newcomer.links).map(|link| (link.provider.clone(), link.subject.clone())).collect();

        self.taken.external_ids.extend(customers::list_external_ids(conn, (self.caller.company, self.store), &external_ids).await?);
        let (emails, phones) = customers::list_listed(conn, self.store, &emails, &phones).await?;
        self.taken.emails.extend(emails);
        self.taken.phones.extend(phones);
        let links = social::list_linked(conn, self.store, &links).await?;
        self.taken.links.extend(links.into_iter().map(|(provider, subject)| Link { provider, subject }));

        let mut left = Vec::new();
        for (number, newcomer) in read {
            if self.taken.external_ids.contains(&newcomer.customer.external_id) {
                self.report.known += 1;
            } else if !self.options.vouch && !newcomer.links.is_empty() {
                let why = "A link to a provider opens the account. It is taken only if the import vouches.";
                self.report.refuse(number, Refusal::of("providers", why));
            } else if let Some(refusal) = self.taken.refuses(&newcomer) {
                self.report.refuse(number, refusal);
            } else {
                self.taken.add(&newcomer);
                left.push((number, newcomer));
            }
        }
        Ok(left)
    }
}

impl Taken {
    fn refuses(&self, Newcomer { customer, links }: &Newcomer) -> Option<Refusal> {
        if customer.email.as_ref().is_some_and(|email| self.emails.contains(&email.key())) {
            return Some(Refusal::of("email", "Another customer or a test identity has this email."));
        }
        if customer.phone.as_ref().is_some_and(|phone| self.phones.contains(phone.as_str())) {
            return Some(Refusal::of("phone", "Another customer or a test identity has this phone number."));
        }
        let is_linked = links.iter().any(|link| self.links.contains(link));
        is_linked.then(|| Refusal::of("providers", "Another customer is linked to this subject."))
    }

    fn add(&mut self, Newcomer { customer, links }: &Newcomer) {
        self.external_ids.insert(customer.external_id.clone());
        self.emails.extend(customer.email.as_ref().map(|email| email.key()));
        self.phones.extend(customer.phone.as_ref().map(|phone| phone.as_str().to_owned()));
        self.links.extend(links.iter().cloned());
    }
}
