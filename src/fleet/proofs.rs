//! Proofs of delivery: a photo, a signature or a scanned code, captured where the order was handed over.
//!
//! A picture is kept by the shop and named by its address; what is small (the strokes of a signature, the text of a code) may be sent as
//! `data`, up to 65,536 characters, which only `GET proofs/{uuid}` shows: an event carries no picture. A proof stays as it was captured:
//! only `remarks` and `meta` can be changed.

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::location::{self, Latitude, Longitude};
use crate::fleet::orders::Order;
use crate::kernel::ids::{OrderId, ProofId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::members;
use crate::resources::{Announced, Change, Edit, Fields, Filter, Instant, Line, Link, Meta, Record, Resource, Ruled, Text, WebAddress};

/// The members that can be changed.
const CHANGEABLE: [&str; 2] = ["remarks", "meta"];

crate::words! {
    /// What a proof is.
    pub enum ProofKind, initially Photo {
        /// A picture of what was delivered, and where.
        Photo = "photo",
        /// What the recipient signed.
        Signature = "signature",
        /// A code that was read.
        Scan = "scan",
    }
}

crate::fields! {
    /// A proof of delivery.
    pub struct Proof, sent as ProofBody {
        /// The order that was delivered.
        order_id as "order": Link<Order>,
        /// What the proof is.
        kind as "type": ProofKind,
        /// What the driver adds to it.
        remarks: Option<Text<2000>>,
        /// Where the picture is kept.
        file_url: Option<WebAddress>,
        /// What was captured, in the app's own form; only shown of a single proof.
        data: Option<Text<65536>>,
        /// Degrees north, where it was captured.
        latitude: Option<Latitude>,
        /// Degrees east, where it was captured.
        longitude: Option<Longitude>,
        /// When it was captured; now, where nothing is said.
        captured_at: Option<Instant>,
        /// What the shop keeps with it.
        meta: Meta,
    }
    kept {
        /// The number the order had.
        tracking_number: Line<64>,
    }
}

impl Resource for Proof {
    type Id = ProofId;
    type Room = Fleet;

    const SINGULAR: &'static str = "proof";
    const PLURAL: &'static str = "proofs";
    const FILTERS: &'static [Filter] =
        &[Filter::id::<OrderId>("order").on("order_id"), Filter::text("tracking_number"), Filter::word::<ProofKind>("type").on("kind")];
    const SEARCH: &'static [&'static str] = &["tracking_number", "remarks"];

    fn shown(&self) -> Map<String, Value> {
        let mut shown = self.members();
        shown.shift_remove("data");
        shown
    }

    async fn details(_: &Fleet, _: &mut PgConnection, proof: &Record<Self>) -> Result<Map<String, Value>, sqlx::Error> {
        Ok(members! { "data": proof.fields.data })
    }
}

impl Announced for Proof {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![names::PROOF_OF_DELIVERY_CREATED],
            Change::Updated(..) | Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Ruled for Proof {
    async fn rules(edit: &mut Edit<Fleet>, before: Option<&Record<Self>>, proof: &mut Self) -> Result<(), Problem> {
        if let Some(before) = before {
            return stays_as_captured(&before.fields, proof);
        }
        if proof.file_url.is_none() && proof.data.is_none() {
            return Err(FieldErrors::one("file_url", "A proof needs a file_url, or data."));
        }
        let order = edit.find::<Order>(proof.order_id).await?;
        proof.tracking_number = order.map(|order| order.fields.tracking_number).unwrap_or_default();
        proof.captured_at = proof.captured_at.or(Some(edit.now));
        location::check_pair(proof.latitude, proof.longitude)
    }
}

fn stays_as_captured(before: &Proof, after: &Proof) -> Result<(), Problem> {
    let (before, mut wrong) = (before.members(), FieldErrors::default());
    for (name, value) in after.members() {
        if before[&name] != value && !CHANGEABLE.contains(&name.as_str()) {
            wrong.add(&name, "A proof stays as it was captured.");
        }
    }
    wrong.finish()
}
