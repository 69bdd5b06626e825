//! Copying rows from one database to another, in the binary form of `COPY`, counted and summed up on the way.

use std::hash::{DefaultHasher, Hasher};
use std::time::Duration;
use std::{io, mem};

use axum::body::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlx::PgConnection;
use sqlx::postgres::PgCopyIn;
use tokio::time::timeout;

use crate::kernel::database::connection::Connection;

/// Rows are sent in pieces of about so many bytes.
const PIECE: usize = 64 * 1024;
/// What the binary form begins with, before the length of an extension that nobody uses.
const HEADER: usize = 19;

/// Rows, and the sum of their digests in any order. Two sets of rows with the same sum are the same: no attacker chooses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many.
    pub rows: u64,
    sum: u64,
}

impl Connection {
    /// Copies what a query returns into the named columns of a table on another connection: `orders (id, name)`. Both are of no more use if it
    /// fails, so a transaction that was open on them is rolled back.
    pub async fn copy_rows(&mut self, query: &str, to: &mut Self, into: &str) -> Result<Copied, sqlx::Error> {
        let limit = self.limit().max(to.limit());
        let copying = async {
            let rows = self.ready().await?.copy_out_raw(&copy_out(query)).await?;
            let copy = to.ready().await?.copy_in_raw(&format!("copy {into} from stdin (format binary)")).await?;
            pass_on(rows, Some(copy)).await
        };
        let copied = in_time(limit, copying).await?;
        self.is_usable_again();
        to.is_usable_again();
        Ok(copied)
    }

    /// The same sum of what a query returns, which goes nowhere.
    pub async fn sum_up(&mut self, query: &str) -> Result<Copied, sqlx::Error> {
        let limit = self.limit();
        let reading = async {
            let rows = self.ready().await?.copy_out_raw(&copy_out(query)).await?;
            pass_on(rows, None).await
        };
        let copied = in_time(limit, reading).await?;
        self.is_usable_again();
        Ok(copied)
    }
}

fn copy_out(query: &str) -> String {
    format!("copy ({query}) to stdout (format binary)")
}

async fn in_time(limit: Duration, copying: impl Future<Output = Result<Copied, sqlx::Error>>) -> Result<Copied, sqlx::Error> {
    timeout(limit, copying).await.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into()))
}

/// Sums up rows, and sends them on if they go anywhere.
async fn pass_on(
    mut rows: BoxStream<'_, Result<Bytes, sqlx::Error>>,
    mut copy: Option<PgCopyIn<&mut PgConnection>>,
) -> Result<Copied, sqlx::Error> {
    let (mut tally, mut piece) = (Tally::default(), Vec::with_capacity(PIECE));
    while let Some(bytes) = rows.try_next().await? {
        tally.take(&bytes);
        if let Some(copy) = &mut copy {
            piece.extend_from_slice(&bytes);
            if piece.len() >= PIECE {
                copy.send(mem::take(&mut piece)).await?;
            }
        }
    }
    if let Some(mut copy) = copy {
        copy.send(piece).await?;
        copy.finish().await?;
    }
    tally.end()
}

/// Sums up rows as they come by.
#[derive(Default)]
struct Tally {
    copied: Copied,
    /// What has not been taken: part of a row.
    rest: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl Tally {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(length) = self.next_part(at) {
            at += length;
        }
        self.rest.drain(..at);
    }

    /// Takes the header or a row that is complete, and returns its length.
    fn next_part(&mut self, at: usize) -> Option<usize> {
        let rest = &self.rest[at..];
        if !self.begun {
            self.begun = rest.len() >= HEADER;
            return self.begun.then_some(HEADER);
        }
        // -1 stands for the end.
        let Ok(fields) = usize::try_from(i16::from_be_bytes(*rest.first_chunk()?)) else {
            self.ended = true;
            return Some(2);
        };
        let mut length = 2;
        for _ in 0..fields {
            // -1 stands for null.
            let size = i32::from_be_bytes(*rest.get(length..)?.first_chunk()?);
            length += 4 + usize::try_from(size).unwrap_or_default();
        }
        let mut digest = DefaultHasher::new();
        digest.write(rest.get(..length)?);
        self.copied.rows += 1;
        self.copied.sum = self.copied.sum.wrapping_add(digest.finish());
        Some(length)
    }

    fn end(self) -> Result<Copied, sqlx::Error> {
        match self.ended && self.rest.is_empty() {
            true => Ok(self.copied),
            false => Err(sqlx::Error::Protocol("the copied rows were cut off".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of one field each, as the server sends them.
    fn sent(rows: &[&str]) -> Vec<u8> {
        let mut bytes = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        for row in rows {
            bytes.extend(1_i16.to_be_bytes());
            bytes.extend(i32::try_from(row.len()).unwrap().to_be_bytes());
            bytes.extend(row.as_bytes());
        }
        bytes.extend((-1_i16).to_be_bytes());
        bytes
    }

    fn tallied(pieces: &[&[u8]]) -> Result<Copied, sqlx::Error> {
        let mut tally = Tally::default();
        pieces.iter().for_each(|piece| tally.take(piece));
        tally.end()
    }

    #[test]
    fn rows_have_the_same_sum_in_any_order_and_in_any_pieces() {
        let (one, other) = (sent(&["a", "", "bc"]), sent(&["bc", "a", ""]));
        let sum = tallied(&[&one]).unwrap();
        assert_eq!(sum.rows, 3);
        assert_eq!(tallied(&[&other]).unwrap(), sum);
        let bytes: Vec<&[u8]> = one.chunks(1).collect();
        assert_eq!(tallied(&bytes).unwrap(), sum);
        assert_ne!(tallied(&[&sent(&["a", "", "bd"])]).unwrap(), sum);
        assert_eq!(tallied(&[&sent(&[])]).unwrap(), Copied::default());
    }

    #[test]
    fn rows_that_are_cut_off_are_noticed() {
        let bytes = sent(&["a", "bc"]);
        for length in 0..bytes.len() {
            assert!(tallied(&[&bytes[..length]]).is_err(), "{length}");
        }
    }
}
