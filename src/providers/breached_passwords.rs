//! The list of passwords that were found in breaches of other services, asked by k-anonymity: the five first hex digits of the SHA-1 of a
//! password name a range, and whoever gives the range out learns nothing else. It is a directory of range files, or a service that answers
//! `/range/{five digits}` in the same form: one line for each entry, the other 35 digits, a colon, and how often it was found.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use sha1::{Digest, Sha1};
use tokio::time::timeout;
use url::Url;

use crate::kernel::ids::StoreId;
use crate::kernel::rate_limit::ConcurrencyLimiter;
use crate::providers::address::{NOT_SECURE, is_secure};
use crate::providers::{body, outgoing};

/// How long a look-up may take, however it is made. A customer waits for it.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Look-ups at one time, and those of one store. Further ones fail at once, and a store that many register at leaves room for the others.
const AT_ONCE: usize = 16;
const OF_STORE: usize = 8;
/// The maximum size of a range, in bytes: about twenty times a usual one.
const RANGE_LIMIT: u64 = 1024 * 1024;
/// How many digits name a range.
const PREFIX: usize = 5;

/// Where the ranges are: the setting `storefront.breached_passwords`.
#[derive(Clone, Debug)]
pub enum BreachedSource {
    /// A directory with a file for each range, `ABCDE` or `ABCDE.txt`.
    Directory(PathBuf),
    /// The base URL of a service.
    Service(Url),
}

/// The text is no source.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSource(&'static str);

impl FromStr for BreachedSource {
    type Err = InvalidSource;

    fn from_str(text: &str) -> Result<Self, InvalidSource> {
        if !text.contains("://") {
            return Ok(Self::Directory(text.into()));
        }
        let url: Url = text.parse().map_err(|_| InvalidSource("is neither a directory nor a URL"))?;
        if is_secure(&url) { Ok(Self::Service(url)) } else { Err(InvalidSource(NOT_SECURE)) }
    }
}

/// Why a look-up failed.
#[derive(Debug, thiserror::Error)]
pub enum LookUpError {
    /// Too many look-ups are under way.
    #[error("too many look-ups are under way")]
    Full,
    /// The range did not come in time.
    #[error("the range did not come in time")]
    TooLate,
    /// The directory or the file cannot be read.
    #[error("the range cannot be read")]
    Unreadable(#[source] io::Error),
    /// The service did not answer.
    #[error("the service did not answer")]
    NoAnswer(#[source] reqwest::Error),
    /// The service answered with another status than 200.
    #[error("the service answered {0}")]
    Refused(StatusCode),
    /// The answer is too long or incomplete.
    #[error("the answer is too long or incomplete")]
    Unusable,
}

/// Asks the list. Clones share the connections.
#[derive(Clone, Debug)]
pub struct BreachedPasswords(Option<Arc<Asked>>);

#[derive(Debug)]
struct Asked {
    source: BreachedSource,
    client: Client,
    places: ConcurrencyLimiter<StoreId>,
}

impl BreachedPasswords {
    /// Without a source nothing is looked up.
    pub fn new(source: Option<&BreachedSource>) -> Self {
        let asked = source.map(|source| {
            let client = outgoing::client().timeout(TIME_LIMIT).redirect(Policy::none()).build().expect("the system has root certificates");
            Arc::new(Asked { source: source.clone(), client, places: ConcurrencyLimiter::new(OF_STORE, AT_ONCE) })
        });
        Self(asked)
    }

    /// Whether a password for the customers of a store is in the list. `None` if there is no list.
    pub async fn look_up(&self, store: StoreId, password: &SecretString) -> Option<Result<bool, LookUpError>> {
        let asked = self.0.as_ref()?;
        let Ok(_place) = asked.places.enter(store) else { return Some(Err(LookUpError::Full)) };
        let digest = hex::encode_upper(Sha1::digest(password.expose_secret()));
        let (prefix, rest) = digest.split_at(PREFIX);
        let range = timeout(TIME_LIMIT, asked.range(prefix)).await.unwrap_or(Err(LookUpError::TooLate));
        Some(range.map(|range| has(&range, rest)))
    }
}

impl Asked {
    async fn range(&self, prefix: &str) -> Result<String, LookUpError> {
        match &self.source {
            BreachedSource::Directory(directory) => {
                let (directory, prefix) = (directory.clone(), prefix.to_owned());
                let reading = tokio::task::spawn_blocking(move || read(&directory, &prefix));
                reading.await.map_err(|_| LookUpError::Unusable)?.map_err(LookUpError::Unreadable)
            }
            BreachedSource::Service(url) => {
                let url = format!("{}/range/{prefix}", url.as_str().trim_end_matches('/'));
                // With padding, the size of the answer does not tell the range either.
                let request = self.client.get(url).header("add-padding", "true");
                let answer =
                    outgoing::send(request, "breached passwords").await.map_err(|error| LookUpError::NoAnswer(error.without_url()))?;
                if answer.status() != StatusCode::OK {
                    return Err(LookUpError::Refused(answer.status()));
                }
                let limit = usize::try_from(RANGE_LIMIT).unwrap_or(usize::MAX);
                let range = body::read_up_to(limit, answer).await.map_err(|_| LookUpError::Unusable)?;
                String::from_utf8(range).map_err(|_| LookUpError::Unusable)
            }
        }
    }
}

/// Reads the file of a range. A range without a file has no entries, as long as the directory is there.
fn read(directory: &Path, prefix: &str) -> io::Result<String> {
    for name in [prefix.to_owned(), format!("{prefix}.txt")] {
        match File::open(directory.join(name)) {
            Ok(file) => {
                let mut range = String::new();
                file.take(RANGE_LIMIT).read_to_string(&mut range)?;
                return Ok(range);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    directory.metadata().map(|_| String::new())
}

/// Whether a range has an entry that was found at least once. A padded answer has others that were not.
fn has(range: &str, rest: &str) -> bool {
    let mut entries = range.lines().filter_map(|line| line.trim().split_once(':'));
    entries.any(|(digits, found)| digits.eq_ignore_ascii_case(rest) && found.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_an_entry_that_was_found_at_least_once() {
        let range =
            "003D68EB55068C33ACE09247EE4C639306B:3\r\n1E4C9B93F3F0682250B6CF8331B7EE68FD8:10\r\n00000000000000000000000000000000000:0";
        assert!(has(range, "1E4C9B93F3F0682250B6CF8331B7EE68FD8"));
        assert!(has(&range.to_lowercase(), "1E4C9B93F3F0682250B6CF8331B7EE68FD8"));
        assert!(!has(range, "00000000000000000000000000000000000"), "padding");
        assert!(!has(range, "11111111111111111111111111111111111"));
    }

    #[test]
    fn a_source_is_a_directory_or_the_url_of_a_service() {
        assert!(matches!("/var/lib/ranges".parse(), Ok(BreachedSource::Directory(_))));
        assert!(matches!("https://ranges.example".parse(), Ok(BreachedSource::Service(_))));
        assert!("http://ranges.example".parse::<BreachedSource>().is_err());
    }
}
