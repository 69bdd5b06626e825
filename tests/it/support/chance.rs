//! Chance: every run of a story tries others, and one that fails says how the same are tried again.

use portico::kernel::crypto::random_hex;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The chance of one story. Its seed is shown where the story fails.
#[expect(clippy::print_stdout, reason = "nobody sees it unless the story fails")]
pub fn chance() -> TestRunner {
    let rng_seed = match Config::default().rng_seed {
        RngSeed::Random => RngSeed::Fixed(u64::from_str_radix(&random_hex::<16>()[..16], 16).unwrap()),
        asked_for => asked_for,
    };
    if let RngSeed::Fixed(seed) = rng_seed {
        println!("PROPTEST_RNG_SEED={seed} cargo test … tries the same again");
    }
    TestRunner::new(Config { rng_seed, ..Config::default() })
}
