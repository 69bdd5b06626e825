//! Inputs: the files of a corpus, and random changes of them.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fmt, fs};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

/// How many changes are tried if `PROPTEST_CASES` does not say: a few seconds for all targets together.
const CASES: u32 = 10_000;
/// The maximum number of changes of one input.
const MOST_CHANGES: usize = 6;
/// What parsers tend to stumble over.
const PIECES: [&[u8]; 20] = [
    b"",
    b"\0",
    b"\n",
    b" ",
    b"|",
    b"@",
    b"+",
    b"%",
    b"%00",
    b"//",
    b"[::1]",
    b"\"",
    b"\\u0000",
    b"{",
    b"]",
    b"-0",
    b"1e400",
    b"99999999999999999999",
    "\u{202e}".as_bytes(),
    "é".as_bytes(),
];

/// Shown as the literal that it is in Rust.
#[derive(Clone)]
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, &'static [u8]),
    Remove(Index, usize),
    Repeat(Index, usize),
    /// Goes on with the end of another input.
    Splice(Index, Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let place = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Set(index, byte) if !bytes.is_empty() => {
                let at = index.index(bytes.len());
                bytes[at] = *byte;
            }
            Self::Set(_, byte) => bytes.push(*byte),
            Self::Insert(index, piece) => {
                let at = place(index, bytes);
                bytes.splice(at..at, piece.iter().copied());
            }
            Self::Remove(index, most) => {
                let at = place(index, bytes);
                bytes.drain(at..bytes.len().min(at + most));
            }
            Self::Repeat(index, most) => {
                let at = place(index, bytes);
                let piece = bytes[at..bytes.len().min(at + most)].to_vec();
                bytes.splice(at..at, piece);
            }
            Self::Splice(index, other) => {
                bytes.truncate(place(index, bytes));
                let other_input = &corpus[index.index(corpus.len())];
                bytes.extend(&other_input[place(other, other_input)..]);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (any::<Index>(), select(&PIECES[..])).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, most)| Change::Remove(at, most)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, most)| Change::Repeat(at, most)),
        (any::<Index>(), any::<Index>()).prop_map(|(at, other)| Change::Splice(at, other)),
    ]
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// How long each target is tried at least, if `FUZZ_SECONDS` says so.
fn at_least() -> Duration {
    let Some(text) = env::var_os("FUZZ_SECONDS") else { return Duration::ZERO };
    Duration::from_secs(text.to_str().and_then(|text| text.parse().ok()).expect("FUZZ_SECONDS is a number"))
}

/// Calls `holds` with every input of the corpus, and with changes of them. The smallest change that fails is shown.
pub fn for_each_change(target: &str, holds: impl Fn(&[u8])) {
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "the corpus of {target} has inputs");
    corpus.iter().for_each(|input| holds(input));
    let cases = match env::var_os("PROPTEST_CASES") {
        Some(_) => Config::default().cases,
        None => CASES,
    };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let inputs = (any::<Index>(), vec(change(), 1..=MOST_CHANGES)).prop_map(|(index, changes)| {
        let mut bytes = index.get(&corpus).clone();
        changes.iter().for_each(|change| change.apply(&mut bytes, &corpus));
        Input(bytes)
    });
    let until = Instant::now() + at_least();
    loop {
        let tried = runner.run(&inputs, |Input(bytes)| {
            holds(&bytes);
            Ok(())
        });
        tried.unwrap_or_else(|failed| panic!("{target}: {failed}"));
        if Instant::now() >= until {
            break;
        }
    }
}

/// The same for inputs that are text.
pub fn for_each_text(target: &str, holds: impl Fn(&str)) {
    for_each_change(target, |bytes| holds(&String::from_utf8_lossy(bytes)));
}
