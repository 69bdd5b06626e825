//! One line of a file: a customer of another service.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contact::{EmailAddress, PhoneNumber};
use crate::kernel::ids::CustomerId;
use crate::kernel::json;
use crate::kernel::openapi::closed_object;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::problem::Problem;
use crate::resources::{Instant, Line};
use crate::storefront::customers::{MovedIn, parse_name};

/// In bytes.
const MAX_LEN: usize = 64 * 1024;
/// Identity providers that one customer may be linked to.
const MAX_LINKS: usize = 10;

/// A line as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename = "empty texts are none", deny_unknown_fields)]
struct Written {
    external_id: Line<255>,
    name: Option<String>,
    email: Option<EmailAddress>,
    email_verified: Option<bool>,
    phone: Option<PhoneNumber>,
    phone_verified: Option<bool>,
    password_hash: Option<String>,
    created_at: Option<Instant>,
    meta: Option<Map<String, Value>>,
    providers: Option<Vec<WrittenLink>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLink {
    provider: String,
    subject: Line<255>,
}

/// A link to an identity provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link {
    /// The word of the provider.
    pub(super) provider: String,
    /// The provider's own name for the person.
    pub(super) subject: String,
}

/// A line that can be taken, as far as the line itself tells.
#[derive(Debug)]
pub(super) struct Newcomer {
    pub(super) customer: MovedIn,
    pub(super) links: Vec<Link>,
}

/// Why a line is not taken: what is wrong with each member, or with the line.
#[derive(Debug)]
pub struct Refusal(BTreeMap<String, Vec<String>>);

impl Refusal {
    pub(super) fn of(member: &str, sentence: impl ToString) -> Self {
        Self([(member.to_owned(), vec![sentence.to_string()])].into())
    }

    /// By member; `line` stands for the line as a whole.
    pub fn reasons(&self) -> &BTreeMap<String, Vec<String>> {
        &self.0
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        match problem.fields() {
            fields if fields.is_empty() => Self::of("line", problem.body("")["detail"].as_str().unwrap_or_default()),
            fields => Self(fields),
        }
    }
}

/// The JSON schema of a line.
pub fn schema() -> Value {
    let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
    let proven =
        || json!({ "type": ["boolean", "null"], "description": "Whether the customer has proven it. Counts if the import vouches." });
    let link = closed_object(
        &["provider", "subject"],
        [
            ("provider", json!({ "type": "string", "description": "The word of the identity provider, such as `idp_a`." })),
            (
                "subject",
                json!({ "type": "string", "minLength": 1, "maxLength": 255, "description": "The provider's name for the person." }),
            ),
        ],
    );
    closed_object(
        &["external_id"],
        [
            (
                "external_id",
                json!({ "type": "string", "minLength": 1, "maxLength": 255, "description": "What the customer was known by. A known one changes nothing." }),
            ),
            ("name", text("The name.")),
            ("email", text("The email address.")),
            ("email_verified", proven()),
            ("phone", text("The phone number with its country code.")),
            ("phone_verified", proven()),
            (
                "password_hash",
                text("The hash of the password: bcrypt, scrypt, PBKDF2, Argon2 or phpass, in one of the forms of the guide."),
            ),
            ("created_at", text("When the account was opened, as an RFC 3339 instant. The instant of the import if it is missing.")),
            ("meta", json!({ "type": ["object", "null"], "description": "Data that the shop stores with the customer." })),
            (
                "providers",
                json!({
                    "type": ["array", "null"],
                    "maxItems": MAX_LINKS,
                    "items": link,
                    "description": "Links to identity providers, which open the account. The line is refused unless the import vouches.",
                }),
            ),
        ],
    )
}

/// Reads a line. What proves who somebody is counts only if `vouch`: contacts are listed otherwise, and a line with links is refused, unless its
/// customer is there already. A link opens the account to a person who has not asked for it, beside the password of the file.
pub(super) fn read(line: &[u8], vouch: bool, now: DateTime<Utc>) -> Result<Newcomer, Refusal> {
    if line.len() > MAX_LEN {
        return Err(Refusal::of("line", format!("A line may have at most {MAX_LEN} bytes.")));
    }
    let written: Written = json::parse(line)?;
    let created_at = written.created_at.map_or(now, DateTime::<Utc>::from);
    if created_at > now || created_at < DateTime::UNIX_EPOCH {
        return Err(Refusal::of("created_at", "This must be an instant since 1970 that has passed."));
    }
    let name = written.name.map(|name| parse_name(&name)).transpose();
    let password_hash = written.password_hash.map(HashedPassword::of_another_service).transpose();
    let proven = |verified: Option<bool>| vouch && verified == Some(true);
    let (email_is_proven, phone_is_proven) = (proven(written.email_verified), proven(written.phone_verified));
    let customer = MovedIn {
        id: CustomerId::new(created_at),
        external_id: written.external_id.into(),
        name: name.map_err(|error| Refusal::of("name", error))?.unwrap_or_default(),
        email_is_proven: email_is_proven && written.email.is_some(),
        email: written.email,
        phone_is_proven: phone_is_proven && written.phone.is_some(),
        phone: written.phone,
        password_hash: password_hash.map_err(|error| Refusal::of("password_hash", error))?,
        meta: written.meta.unwrap_or_default().into(),
        created_at,
    };
    Ok(Newcomer { customer, links: links(written.providers.unwrap_or_default())? })
}

fn links(written: Vec<WrittenLink>) -> Result<Vec<Link>, Refusal> {
    if written.len() > MAX_LINKS {
        return Err(Refusal::of("providers", format!("There may be at most {MAX_LINKS}.")));
    }
    let mut links: Vec<Link> = Vec::new();
    for WrittenLink { provider, subject } in written {
        if !is_word(&provider) {
            return Err(Refusal::of("providers", "A provider is the word of one, such as idp_a."));
        }
        let link = Link { provider, subject: subject.into() };
        if links.contains(&link) {
            return Err(Refusal::of("providers", "A provider and subject stand there twice."));
        }
        links.push(link);
    }
    Ok(links)
}

/// The words of ids that were taken without proof are not among them: they open nothing that a proven one made.
fn is_word(text: &str) -> bool {
    let is_of_words = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
    begins && text.len() <= 40 && text.bytes().all(is_of_words) && !text.starts_with("claimed_")
}
