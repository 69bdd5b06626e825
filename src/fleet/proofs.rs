//! Proofs of delivery: a photo, a signature or a scanned code, captured at the handover.
//!
//! A picture is stored by the shop and referenced by its URL. Small data (the strokes of a signature, the text of a code) can be
//! sent as `data`, up to 65,536 characters. Only `GET proofs/{uuid}` shows `data`; lists and events do not contain it. A proof
//! cannot be changed, except for its `remarks` and `meta`.

use serde_json::{Map, Value};
use sqlx::PgConnection;

use crate::events::{EventName, names};
use crate::fleet::Fleet;
use crate::fleet::location::{self, Latitude, Longitude};
use crate::fleet::orders::Order;
use crate::kernel::ids::{OrderId, ProofId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::members;
use crate::resources::{
    Change, Columns, Filter, Instant, Line, Link, Meta, PublishesEvents, Record, RecordTransaction, Resource, Text, Validated, WebAddress,
};

/// The fields that can be changed.
const CHANGEABLE: [&str; 2] = ["remarks", "meta"];

crate::text_enum! {
    /// The kind of a proof.
    pub enum ProofKind, default Photo {
        /// A picture of the delivered goods at the drop-off.
        Photo = "photo",
        /// The recipient's signature.
        Signature = "signature",
        /// A scanned code.
        Scan = "scan",
    }
}

crate::fields! {
    /// A proof of delivery.
    pub struct Proof, body ProofBody {
        /// The order that was delivered.
        order_id as "order": Link<Order>,
        /// The kind of the proof.
        kind as "type": ProofKind,
        /// Remarks of the driver.
        remarks: Option<Text<2000>>,
        /// The URL of the picture, which the shop stores.
        file_url: Option<WebAddress>,
        /// The captured data, in a format defined by the app. Only shown when a single proof is requested.
        data: Option<Text<65536>>,
        /// Latitude of the handover, in degrees north.
        latitude: Option<Latitude>,
        /// Longitude of the handover, in degrees east.
        longitude: Option<Longitude>,
        /// When the proof was captured. Defaults to now.
        captured_at: Option<Instant>,
        /// Free-form data of the shop.
        meta: Meta,
    }
    read_only {
        /// The tracking number of the order at that time.
        tracking_number: Line<64>,
    }
}

impl Resource for Proof {
    type Id = ProofId;
    type State = Fleet;

    const SINGULAR: &'static str = "proof";
    const PLURAL: &'static str = "proofs";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<OrderId>("order").on("order_id"),
        Filter::text("tracking_number"),
        Filter::text_enum::<ProofKind>("type").on("kind"),
    ];
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

impl PublishesEvents for Proof {
    fn events(change: &Change<'_, Self>) -> Vec<EventName> {
        match change {
            Change::Created(_) => vec![names::PROOF_OF_DELIVERY_CREATED],
            Change::Updated(..) | Change::Deleted(_) => Vec::new(),
        }
    }
}

impl Validated for Proof {
    async fn validate(transaction: &mut RecordTransaction<Fleet>, before: Option<&Record<Self>>, proof: &mut Self) -> Result<(), Problem> {
        if let Some(before) = before {
            return stays_as_captured(&before.fields, proof);
        }
        if proof.file_url.is_none() && proof.data.is_none() {
            return Err(FieldErrors::one("file_url", "A proof needs a file_url or data."));
        }
        let order = transaction.find::<Order>(proof.order_id).await?;
        proof.tracking_number = order.map(|order| order.fields.tracking_number).unwrap_or_default();
        proof.captured_at = proof.captured_at.or(Some(transaction.now));
        location::check_pair(proof.latitude, proof.longitude)
    }
}

fn stays_as_captured(before: &Proof, after: &Proof) -> Result<(), Problem> {
    let (before, mut wrong) = (before.members(), FieldErrors::default());
    for (name, value) in after.members() {
        if before[&name] != value && !CHANGEABLE.contains(&name.as_str()) {
            wrong.add(&name, "This cannot be changed after the proof was captured.");
        }
    }
    wrong.finish()
}
