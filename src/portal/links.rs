//! Portal links, as a resource of `developers/int/v1` that requires the scope `admin`: whoever has one reaches the webhooks of its owner.

use std::mem::take;

use chrono::TimeDelta;
use uuid::Uuid;

use crate::audit_trail::ChangedRecord;
use crate::callers::{AllowedNetworks, Area, Grant, Owner, Scope};
use crate::kernel::ids::PortalLinkId;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::portal::secrets::LinkKey;
use crate::portal::{Accent, ColorScheme, Portal, Radius, access};
use crate::resources::{Editable, Fields, Instant, IntegerIn, Line, Member, New, PublishesEvents, Record, RecordTransaction, Resource};

/// How long a link can be opened unless its creation says otherwise, in seconds.
const DEFAULT_LIFETIME: i32 = 60 * 60;

/// How long a link can be opened, in seconds: a minute to a day.
pub type Lifetime = IntegerIn<60, 86_400>;

crate::fields! {
    /// A link that lets one of your own customers into the portal, to the webhooks with the same owner.
    pub struct PortalLink, body PortalLinkBody {
        /// Whose webhooks are shown. It cannot be changed.
        #[sample = "tenant-7"] #[filtered]
        owner: Owner,
        /// The theme: what stands above the pages. Null: the name in the settings.
        name: Option<Line<60>>,
        /// The theme: the colour of what can be clicked, dark enough to be read on white. Null: the colour in the settings.
        accent: Option<Accent>,
        /// The theme: how round corners are, in pixels. Null: as in the settings.
        radius: Option<Radius>,
        /// The theme: light, dark, or as the visitor's system. Null: as in the settings.
        color_scheme: Option<ColorScheme>,
        /// The networks that the link can be opened and used from. An empty list means anywhere.
        allowed_networks: AllowedNetworks,
    }
    by_hand {
        /// The number of seconds from now on for which the link can be opened; an hour by default. A session that it has begun may last longer.
        #[write_only]
        lifetime: Option<Lifetime>,
    }
    read_only {
        /// Until when the link can be opened.
        expires_at: Instant,
        /// When its sessions end at the latest: with the API key that set the lifetime. Null: when they are old.
        sessions_end_at: Option<Instant>,
        /// When it was last opened.
        last_opened_at: Option<Instant>,
    }
    hidden {
        /// The SHA-256 digest of the key.
        digest: Vec<u8>,
        /// What has given the link, as the audit trail says it; see `makers`.
        maker: Option<String>,
        /// The API key or the operator.
        maker_id: Option<Uuid>,
    }
}

impl Resource for PortalLink {
    type Id = PortalLinkId;
    type State = Portal;

    const SINGULAR: &'static str = "portal_link";
    const PLURAL: &'static str = "portal_links";
    const AREA: Area = Area::Integration;
    const READING: Scope = Scope::Admin;
    const WRITING: Scope = Scope::Admin;
    const SHOWS_SECRET: bool = true;
    const REFUSALS: &'static [ProblemCode] = &[ProblemCode::ApiKeyTooStrong];
    /// A visitor also repeats and cancels deliveries.
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Traffic, Scope::Write)];
}

/// Links publish no events: subscribers do not need to know about access.
impl PublishesEvents for PortalLink {
    const AUDITED_AS: Option<fn(PortalLinkId) -> ChangedRecord> = Some(ChangedRecord::PortalLink);
}

impl Editable for PortalLink {
    type Body = PortalLinkBody;

    async fn create(transaction: &mut RecordTransaction<Portal>, _: PortalLinkId, mut body: PortalLinkBody) -> Result<New<Self>, Problem> {
        let lifetime = match take(&mut body.lifetime) {
            Member::Sent(Some(lifetime)) => lifetime.into(),
            Member::Sent(None) | Member::Missing => DEFAULT_LIFETIME,
        };
        let mut fields = Self::created_by(body)?.lasting(lifetime, transaction);
        transaction.caller.must_cover(&fields.grant(&transaction.state), None)?;
        let key = LinkKey::generate();
        fields.digest = key.digest().to_vec();
        let path = format!("/portal/open#{}", key.reveal());
        Ok(New { fields, shown_once: members! { "key": key.reveal(), "path": path } })
    }

    async fn change(transaction: &mut RecordTransaction<Portal>, before: &Record<Self>, mut body: PortalLinkBody) -> Result<Self, Problem> {
        let lifetime = take(&mut body.lifetime);
        let mut fields = before.fields.changed_by(body);
        if fields.owner != before.fields.owner {
            // Whoever has the link would see what they should not.
            return Err(FieldErrors::one("owner", "The owner of a portal link cannot be changed. Create another link instead."));
        }
        let mut had = Some(before.fields.grant(&transaction.state));
        if let Member::Sent(Some(lifetime)) = lifetime {
            // It opens anew, also to whom it would not have opened any more.
            (fields, had) = (fields.lasting(lifetime.into(), transaction), None);
        }
        let given = fields.grant(&transaction.state);
        transaction.caller.must_cover(&given, had.as_ref())?;
        if fields.allowed_networks != before.fields.allowed_networks && transaction.caller.must_cover(&given, None).is_ok() {
            // The one before may not give it from these networks.
            fields = fields.given_by(transaction);
        }
        Ok(fields)
    }
}

impl PortalLink {
    /// The link as it can be opened for `lifetime` seconds. Its sessions end with the caller who says so.
    fn lasting(self, lifetime: i32, transaction: &RecordTransaction<Portal>) -> Self {
        let expires_at = transaction.now + TimeDelta::seconds(lifetime.into());
        Self { expires_at, sessions_end_at: transaction.caller.grant.until, ..self.given_by(transaction) }
    }

    /// The link as this caller gives it. It ends with them.
    fn given_by(self, transaction: &RecordTransaction<Portal>) -> Self {
        let who = transaction.caller.who;
        Self { maker: Some(who.kind().to_owned()), maker_id: who.id(), ..self }
    }

    /// What visitors with the link can do, and until when the last of them can.
    fn grant(&self, portal: &Portal) -> Grant {
        let networks = AllowedNetworks::try_from(self.allowed_networks.clone()).expect("networks are validated before they are stored");
        let sessions_end_at = self.sessions_end_at.unwrap_or(self.expires_at + portal.settings.session_lifetime);
        access::grant(self.owner.clone(), networks, sessions_end_at.max(self.expires_at))
    }
}
