//! The pages that are followed while they change: how many each party follows, and one copy of a page for all of a party who look at it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::callers::Party;
use crate::kernel::ids::CompanyId;
use crate::kernel::rate_limit::{ConcurrencyLimiter, Full, Slot};

/// How many pages one operator follows, or all visitors of one owner together. A browser follows the page that somebody looks at, and no others.
const OF_PARTY: usize = 16;
/// How long a copy is new. It is a little less than the second after which pages are made again, so that a copy that comes a moment early is made
/// anew.
const NEW: Duration = Duration::from_millis(750);

/// The pages that are followed in this instance. Clones share them.
#[derive(Clone)]
pub struct FollowedPages(Arc<Shared>);

struct Shared {
    places: ConcurrencyLimiter<(CompanyId, Party)>,
    copies: Mutex<HashMap<Page, Followed>>,
}

/// A page as it looks to everybody of a party who asks in a language.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    pub company: CompanyId,
    pub party: Party,
    /// The tag of the language.
    pub language: &'static str,
    /// Path and query.
    pub address: String,
}

#[derive(Default)]
struct Followed {
    copy: Arc<PageCopy>,
    followers: usize,
}

/// The page as somebody has last made it.
#[derive(Default)]
struct PageCopy(Mutex<Made>);

#[derive(Default)]
struct Made {
    region: Option<Arc<str>>,
    /// When somebody began to make it.
    begun_at: Option<Instant>,
}

/// Somebody who follows a page, until this is dropped.
pub struct Follower {
    pages: FollowedPages,
    page: Page,
    copy: Arc<PageCopy>,
    _place: Slot<(CompanyId, Party)>,
}

/// What the follower does next.
pub enum Turn {
    /// Takes the copy of another one.
    Copy(Arc<str>),
    /// Makes the page, which was begun at this instant.
    Make(Instant),
}

impl FollowedPages {
    /// Places for `all` followers.
    pub fn new(all: usize) -> Self {
        Self(Arc::new(Shared { places: ConcurrencyLimiter::new(OF_PARTY, all), copies: Mutex::default() }))
    }

    /// One more who follows the page.
    pub fn follow(&self, page: Page) -> Result<Follower, Full> {
        let place = self.0.places.enter((page.company, page.party.clone()))?;
        let copy = {
            let mut copies = self.copies();
            let followed = copies.entry(page.clone()).or_default();
            followed.followers += 1;
            Arc::clone(&followed.copy)
        };
        Ok(Follower { pages: self.clone(), page, copy, _place: place })
    }

    fn copies(&self) -> MutexGuard<'_, HashMap<Page, Followed>> {
        self.0.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower {
    /// Whether the page is to be made. Nobody waits for the follower that makes it: until it is there, the last copy is shown.
    pub fn turn(&self) -> Turn {
        let (mut made, now) = (self.made(), Instant::now());
        match &made.region {
            Some(region) if made.begun_at.is_some_and(|begun_at| now < begun_at + NEW) => Turn::Copy(Arc::clone(region)),
            _ => {
                made.begun_at = Some(now);
                Turn::Make(now)
            }
        }
    }

    /// Keeps what the follower has made, unless somebody has begun after them.
    pub fn keep(&self, begun_at: Instant, region: &Arc<str>) {
        let mut made = self.made();
        if made.begun_at == Some(begun_at) {
            made.region = Some(Arc::clone(region));
        }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.copy.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut copies = self.pages.copies();
        if let Some(followed) = copies.get_mut(&self.page) {
            followed.followers -= 1;
            if followed.followers == 0 {
                copies.remove(&self.page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;
    use uuid::Uuid;

    use super::*;

    fn page(owner: &str, address: &str) -> Page {
        let party = Party::Visitors(owner.to_owned().try_into().unwrap());
        Page { company: Uuid::from_u128(1).into(), party, language: "en", address: address.to_owned() }
    }

    /// What the follower shows, and whether it has made it.
    fn look(follower: &Follower, now: &str) -> (String, bool) {
        match follower.turn() {
            Turn::Copy(copy) => (copy.to_string(), false),
            Turn::Make(begun_at) => {
                follower.keep(begun_at, &now.into());
                (now.to_owned(), true)
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_made_once_a_second_however_many_look_at_it() {
        let pages = FollowedPages::new(100);
        let followers: Vec<_> = (0..10).map(|_| pages.follow(page("7", "/portal/a")).unwrap()).collect();
        let mut made = 0;
        for second in 0..20 {
            for follower in &followers {
                made += usize::from(look(follower, &second.to_string()).1);
                advance(Duration::from_millis(100)).await;
            }
        }
        assert!((20..=27).contains(&made), "{made}");
        let other = pages.follow(page("7", "/portal/b")).unwrap();
        assert!(look(&other, "other").1, "another page has a copy of its own");
        drop((followers, other));
        assert!(pages.copies().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_whoever_makes_the_page() {
        let pages = FollowedPages::new(100);
        let [slow, other] = [0; 2].map(|_| pages.follow(page("7", "/portal/a")).unwrap());
        assert_eq!(look(&slow, "first"), ("first".to_owned(), true));
        advance(Duration::from_secs(1)).await;
        let Turn::Make(begun_at) = slow.turn() else { panic!("the copy is old") };
        assert_eq!(look(&other, "second"), ("first".to_owned(), false));
        advance(Duration::from_secs(1)).await;
        assert_eq!(look(&other, "second"), ("second".to_owned(), true));
        slow.keep(begun_at, &"late".into());
        assert_eq!(look(&other, "third"), ("second".to_owned(), false));
    }

    #[test]
    fn one_party_leaves_places_to_others() {
        let pages = FollowedPages::new(20);
        let mut followers: Vec<_> = (0..OF_PARTY).map(|number| pages.follow(page("7", &number.to_string())).unwrap()).collect();
        assert_eq!(pages.follow(page("7", "more")).err(), Some(Full::Caller));
        followers.extend((0..4).map(|number| pages.follow(page("8", &number.to_string())).unwrap()));
        assert_eq!(pages.follow(page("9", "more")).err(), Some(Full::Everybody));
        followers.clear();
        assert!(pages.follow(page("7", "more")).is_ok());
    }
}
