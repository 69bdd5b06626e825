//! The codes that a group of texts carries. They are stored before the guard judges: transactions lock codes first and counters then. Where the
//! guard refuses the text, the older code is restored, and nobody has seen the new one.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::storefront::new_codes::{self, NewCode, Placed};
use crate::storefront::sms_guard::asked_text::AskedText;

/// What became of the new codes of a group, by their ids.
#[derive(Debug, Default)]
pub(super) struct Codes(HashMap<Uuid, Placed>);

impl Codes {
    /// Stores the new codes of a group. Of several that have one place only the first one is stored; the others are left for
    /// [`Self::store_rest`].
    pub(super) async fn store(conn: &mut Connection, texts: &[&AskedText]) -> Result<Self, sqlx::Error> {
        let mut places = HashSet::new();
        let codes = texts.iter().filter_map(|asked| asked.new_code());
        let first: Vec<_> = codes.filter(|code| places.insert(place(code))).collect();
        let mut this = Self::default();
        this.add(conn, &first).await?;
        Ok(this)
    }

    /// Stores those of a round that are not stored yet.
    pub(super) async fn store_rest(&mut self, conn: &mut Connection, round: &[&AskedText]) -> Result<(), sqlx::Error> {
        let codes = round.iter().filter_map(|asked| asked.new_code());
        let rest: Vec<_> = codes.filter(|code| !self.0.contains_key(&code.id)).collect();
        self.add(conn, &rest).await
    }

    async fn add(&mut self, conn: &mut Connection, codes: &[&NewCode]) -> Result<(), sqlx::Error> {
        if !codes.is_empty() {
            self.0.extend(new_codes::store(conn, codes).await?);
        }
        Ok(())
    }

    /// Whether the text repeats a request.
    pub(super) fn is_repeated(&self, asked: &AskedText) -> bool {
        asked.new_code().is_some_and(|code| matches!(self.0.get(&code.id), Some(Placed::Repeated)))
    }

    /// Restores what was before the code of a text that is refused.
    pub(super) async fn restore(&self, conn: &mut Connection, asked: &AskedText) -> Result<(), sqlx::Error> {
        let Some(code) = asked.new_code() else { return Ok(()) };
        let Some(Placed::Stored { instead_of }) = self.0.get(&code.id) else { return Ok(()) };
        new_codes::restore(conn, code.id, instead_of.as_ref()).await
    }
}

/// What no two codes have in common.
fn place(code: &NewCode) -> impl Eq + std::hash::Hash {
    (code.store, code.purpose.as_str(), code.identity.as_str(), code.requested_by)
}
