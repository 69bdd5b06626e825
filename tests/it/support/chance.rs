//! Random test cases: every run uses a new seed, and a failed test prints how to repeat its cases.

use portico::kernel::crypto::random_hex;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// A runner with a random seed. The seed is printed if the test fails.
#[expect(clippy::print_stdout, reason = "the output is shown only if the test fails")]
pub fn chance() -> TestRunner {
    let rng_seed = match Config::default().rng_seed {
        RngSeed::Random => RngSeed::Fixed(u64::from_str_radix(&random_hex::<16>()[..16], 16).unwrap()),
        configured => configured,
    };
    if let RngSeed::Fixed(seed) = rng_seed {
        println!("PROPTEST_RNG_SEED={seed} cargo test … repeats these cases");
    }
    TestRunner::new(Config { rng_seed, ..Config::default() })
}
