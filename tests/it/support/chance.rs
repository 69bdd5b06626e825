//! Random test cases: the same in every run, so that a change is judged by itself, unless others are asked for. A failed test prints how to
//! repeat its cases.

use std::env;

use portico::kernel::crypto::random_hex;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Asks for other cases: those of this seed, or of a new one if it is `random`.
const ASKED: &str = "PORTICO_TEST_SEED";
/// The seed of the usual cases.
const USUAL: u64 = 4711;

/// A runner with the usual seed, or with the one that is asked for. The seed is printed if the test fails.
#[expect(clippy::print_stdout, reason = "the output is shown only if the test fails")]
pub fn chance() -> TestRunner {
    let seed = match env::var_os(ASKED) {
        None => USUAL,
        Some(asked) if asked == "random" => u64::from_str_radix(&random_hex::<16>()[..16], 16).unwrap(),
        Some(asked) => asked.to_str().and_then(|asked| asked.parse().ok()).expect("PORTICO_TEST_SEED is a number or `random`"),
    };
    println!("{ASKED}={seed} cargo test … repeats these cases");
    TestRunner::new(Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() })
}
