//! Argon2id on dedicated threads: one hash per core at a time, reused memory, a bounded queue in which those who ask take turns ([`queue`]).
//!
//! Each thread keeps the 19 MiB of its first hash, so a flood of sign-ins allocates no memory. A request first reserves a place: if
//! there is none, it is rejected immediately ([`HashingBusy`]), before a guess is counted. One network has a quarter of the places at most,
//! a /48 half of them and one group three quarters, so who floods is rejected first. The threads run with a low priority, so other requests
//! do not wait for a hash. If the other requests use most of the processor time, the queue fills and sign-ins are rejected before other
//! routes become slow.

mod hashed_password;
mod of_others;
mod os;
mod password;
mod queue;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::thread;

use argon2::Block;
use secrecy::SecretString;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use uuid::Uuid;

use crate::kernel::metrics::{Counter, Registry};
use crate::kernel::password_hashing::hashed_password::{MEMORY_KIB, compare};
use crate::kernel::password_hashing::queue::Queue;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::tally::{Counted, Tally};

pub use hashed_password::{Comparison, HashedPassword};
pub use of_others::InvalidHash;
pub use password::{MAX_LEN, Password};
pub use queue::Asker;

/// The maximum number of queued hashes. At about 14 ms each on two cores, the last one waits less than half a second.
const QUEUE: usize = 64;
/// The places of one network of clients, and of one group.
const OF_ONE_NETWORK: usize = QUEUE / 4;
const OF_ONE_GROUP: usize = QUEUE / 4 * 3;

/// All threads are busy and the queue is full, or those who ask have as many places as one may have.
#[derive(Debug, thiserror::Error)]
#[error("too many passwords are being hashed")]
pub struct HashingBusy;

impl From<HashingBusy> for Problem {
    fn from(_: HashingBusy) -> Self {
        Problem::new(ProblemCode::Overloaded).retry_after(1)
    }
}

type Job = Box<dyn FnOnce(&mut Vec<Block>) + Send>;

/// Hashes and compares passwords. Clones share the threads, which end when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct PasswordHashing {
    jobs: Arc<Jobs>,
    /// One for each thread and each place in the queue.
    places: Arc<Semaphore>,
    of_networks: Tally<Asker>,
    of_groups: Tally<Uuid>,
    threads: NonZeroU32,
    refused: Counter,
}

/// The end at which jobs are put in.
#[derive(Debug)]
struct Jobs(Arc<Queue<Job>>);

impl Drop for Jobs {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl PasswordHashing {
    /// Starts one thread per core.
    pub fn start() -> Self {
        Self::with_threads(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    /// Starts this many threads.
    pub fn with_threads(threads: NonZeroUsize) -> Self {
        let jobs = Arc::new(Queue::default());
        for number in 0..threads.get() {
            let jobs = Arc::clone(&jobs);
            thread::Builder::new()
                .name(format!("password-hashing-{number}"))
                .spawn(move || work(&jobs))
                .expect("the system can start threads");
        }
        Self {
            jobs: Arc::new(Jobs(jobs)),
            places: Arc::new(Semaphore::new(threads.get() + QUEUE)),
            of_networks: Tally::default(),
            of_groups: Tally::default(),
            threads: threads.try_into().unwrap_or(NonZeroU32::MAX),
            refused: Counter::default(),
        }
    }

    /// Registers what is measured of the queue.
    pub fn register(&self, registry: &mut Registry) {
        let (places, all) = (Arc::clone(&self.places), self.threads.get() as usize + QUEUE);
        let taken = move || Some(all.saturating_sub(places.available_permits()) as f64);
        registry.gauge("portico_password_hashing_places_taken", "Passwords that are hashed or wait for it", taken);
        registry
            .gauge("portico_password_hashing_places", "Passwords that may be hashed or wait for it at a time", move || Some(all as f64));
        registry.register("portico_password_hashing_refused", "Passwords that found no place", &self.refused);
    }

    /// The number of passwords that are hashed at once.
    pub fn threads(&self) -> u32 {
        self.threads.get()
    }

    /// Reserves a place for one password, which is then hashed or compared without another rejection.
    pub fn reserve(&self, asker: Asker) -> Result<HashingPlace, HashingBusy> {
        self.take_place(asker).ok_or_else(|| {
            self.refused.inc();
            HashingBusy
        })
    }

    fn take_place(&self, asker: Asker) -> Option<HashingPlace> {
        let place = Place {
            _of_network: self.of_networks.take(asker, OF_ONE_NETWORK, QUEUE)?,
            _of_group: self.of_groups.take(asker.group, OF_ONE_GROUP, QUEUE)?,
            _of_all: Arc::clone(&self.places).try_acquire_owned().ok()?,
        };
        Some(HashingPlace { jobs: Arc::clone(&self.jobs), asker, place: Arc::new(place) })
    }
}

/// What a place is counted as.
#[derive(Debug)]
struct Place {
    _of_network: Counted<Asker>,
    _of_group: Counted<Uuid>,
    _of_all: OwnedSemaphorePermit,
}

/// A place in the queue, free again when this is dropped and its last hash has ended.
#[derive(Debug)]
pub struct HashingPlace {
    jobs: Arc<Jobs>,
    asker: Asker,
    place: Arc<Place>,
}

impl HashingPlace {
    /// Returns the hash to store for `password`.
    pub async fn hash(&self, password: Password) -> HashedPassword {
        self.run(move |memory| HashedPassword::of(&password, memory)).await
    }

    /// Compares a typed password with the stored hash, in each of its spellings, and each in a turn of its own. Without a stored hash it does the
    /// same amount of work and returns [`Comparison::Wrong`], so that the response time does not reveal whether an account exists.
    pub async fn compare(&self, typed: &SecretString, stored: Option<HashedPassword>) -> Comparison {
        let Some(password) = Password::read(typed) else {
            // Longer than any password, and so wrong.
            return self.run(|memory| compare((&"".into(), true), None, memory)).await;
        };
        for (number, spelling) in password.spellings(typed).into_iter().enumerate() {
            let stored = stored.clone();
            let compared = self.run(move |memory| compare((&spelling, number == 0), stored.as_ref(), memory)).await;
            if compared != Comparison::Wrong {
                return compared;
            }
        }
        Comparison::Wrong
    }

    async fn run<T: Send + 'static>(&self, job: impl FnOnce(&mut Vec<Block>) -> T + Send + 'static) -> T {
        let (answer, result) = oneshot::channel();
        let place = Arc::clone(&self.place);
        let job: Job = Box::new(move |memory| {
            // If the client has disconnected, nothing waits for the result and the work is skipped.
            if !answer.is_closed() {
                let _ = answer.send(job(memory));
            }
            drop(place);
        });
        self.jobs.0.push(self.asker, job);
        result.await.expect("a hash does not panic")
    }
}

fn work(jobs: &Queue<Job>) {
    os::lower_priority();
    // Not before there is something to hash: whose customers have no passwords needs no memory for them.
    let mut memory = None;
    while let Some(job) = jobs.next() {
        job(memory.get_or_insert_with(|| os::allocate(MEMORY_KIB as usize)));
    }
}

#[cfg(test)]
mod tests {
    use std::iter;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use futures::FutureExt;
    use futures::future::join_all;
    use ipnet::IpNet;

    use super::*;

    fn asker(number: u128) -> Asker {
        let network = IpNet::new([9, 9, 9, number as u8].into(), 32).unwrap();
        Asker { group: Uuid::from_u128(number), network }
    }

    /// Every place, each taken by somebody else.
    fn all_places(hashing: &PasswordHashing) -> Vec<HashingPlace> {
        (0..).map_while(|number| hashing.reserve(asker(number)).ok()).collect()
    }

    fn password() -> Password {
        Password::read(&"correct horse".into()).unwrap()
    }

    #[tokio::test]
    async fn a_password_differs_from_another_and_from_none() {
        let place = PasswordHashing::start().reserve(asker(1)).unwrap();
        let hash = place.hash(password()).await;
        assert!(hash.expose().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert_eq!(format!("{hash:?}"), "HashedPassword(…)");
        assert_eq!(place.compare(&"correct horse".into(), Some(hash.clone())).await, Comparison::Right);
        assert_eq!(place.compare(&"battery staple".into(), Some(hash)).await, Comparison::Wrong);
        assert_eq!(place.compare(&"correct horse".into(), None).await, Comparison::Wrong);
        let long = "correct horse".repeat(20);
        assert_eq!(place.compare(&long.into(), None).await, Comparison::Wrong);
    }

    /// The hash that another service has made of these bytes.
    fn of_another_service(bytes: &str) -> HashedPassword {
        let hash = bcrypt::hash_with_salt(bytes, 4, [7; 16]).unwrap().to_string();
        HashedPassword::of_another_service(hash).unwrap()
    }

    #[tokio::test]
    async fn an_imported_hash_is_compared_as_the_password_is_typed_composed_and_decomposed() {
        let place = PasswordHashing::start().reserve(asker(1)).unwrap();
        let (composed, decomposed) = ("gr\u{fc}nes Pferd", "gru\u{308}nes Pferd");
        for hashed in [composed, decomposed] {
            for typed in [composed, decomposed] {
                let compared = place.compare(&typed.into(), Some(of_another_service(hashed))).await;
                assert_eq!(compared, Comparison::RightButOutdated, "{hashed:?} {typed:?}");
            }
            assert_eq!(place.compare(&"grunes Pferd".into(), Some(of_another_service(hashed))).await, Comparison::Wrong);
        }
    }

    #[tokio::test]
    async fn a_hash_that_has_not_read_all_of_a_password_stays_as_it_is() {
        let place = PasswordHashing::start().reserve(asker(1)).unwrap();
        let long = "correct horse battery staple ".repeat(3);
        let hash = of_another_service(&long);
        // A typing error behind the 72nd byte must not become the password, and neither must the beginning that was read.
        for typed in [long.clone(), format!("{long}x"), long[..72].to_owned()] {
            assert_eq!(place.compare(&typed.into(), Some(hash.clone())).await, Comparison::Right);
        }
        let shorter = SecretString::from(&long[..71]);
        assert_eq!(place.compare(&shorter, Some(hash)).await, Comparison::Wrong);
        assert_eq!(place.compare(&shorter, Some(of_another_service(&long[..71]))).await, Comparison::RightButOutdated);
    }

    #[tokio::test]
    async fn an_older_hash_is_right_but_outdated() {
        use argon2::password_hash::PasswordHasher;
        use argon2::{Algorithm, Argon2, Params, Version};
        let older = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8_192, 1, 1, None).unwrap());
        let hash = HashedPassword::of_another_service(older.hash_password(b"correct horse").unwrap().to_string()).unwrap();
        let compared = PasswordHashing::start().reserve(asker(1)).unwrap().compare(&"correct horse".into(), Some(hash)).await;
        assert_eq!(compared, Comparison::RightButOutdated);
    }

    #[tokio::test]
    async fn a_hash_ends_on_a_machine_that_is_busy_with_something_else() {
        let hashing = PasswordHashing::start();
        let hashed = Arc::new(AtomicBool::new(false));
        let give_up = Instant::now() + Duration::from_secs(30);
        let others = (0..thread::available_parallelism().map_or(1, usize::from)).map(|_| {
            let hashed = Arc::clone(&hashed);
            thread::spawn(move || while !hashed.load(Ordering::Relaxed) && Instant::now() < give_up {})
        });
        let others: Vec<_> = others.collect();
        hashing.reserve(asker(1)).unwrap().hash(password()).await;
        let ended_beside_them = others.iter().all(|other| !other.is_finished());
        hashed.store(true, Ordering::Relaxed);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(ended_beside_them);
    }

    #[tokio::test]
    async fn a_flood_is_refused_at_once_beyond_the_queue() {
        let hashing = PasswordHashing::start();
        let places = all_places(&hashing);
        assert_eq!(places.len(), thread::available_parallelism().map_or(1, usize::from) + QUEUE);
        let typed = SecretString::from("correct horse");
        join_all(places.iter().map(|place| place.compare(&typed, None))).await;
        assert!(hashing.reserve(asker(1)).is_err(), "a place is kept for another comparison");
        drop(places);
        hashing.reserve(asker(1)).expect("when it is over, there is room again");
    }

    #[tokio::test]
    async fn one_network_and_one_group_leave_places_to_others() {
        let hashing = PasswordHashing::start();
        let of_one: Vec<_> = iter::from_fn(|| hashing.reserve(asker(1)).ok()).collect();
        assert_eq!(of_one.len(), OF_ONE_NETWORK);
        let same_group = |number| Asker { group: asker(1).group, ..asker(number) };
        let of_group: Vec<_> = (2..).map_while(|number| hashing.reserve(same_group(number)).ok()).collect();
        assert_eq!(of_one.len() + of_group.len(), OF_ONE_GROUP);
        hashing.reserve(asker(2)).expect("another store has room");
    }

    #[tokio::test]
    async fn an_abandoned_hash_gives_its_place_back() {
        let hashing = PasswordHashing::start();
        let places = all_places(&hashing);
        let all = u32::try_from(places.len()).unwrap();
        for place in places {
            assert_eq!(place.compare(&"correct horse".into(), None).now_or_never(), None);
        }
        let _all = hashing.places.acquire_many(all).await.unwrap();
    }
}
