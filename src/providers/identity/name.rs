//! What a deployment calls an identity provider: part of a route and of a member.

/// Lower-case words joined by hyphens: `idp-a`, `acme-id`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderName(String);

/// The text cannot stand in a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a provider's name is lower-case words of letters and digits, joined by hyphens, such as \"acme-id\"")]
pub struct NotAProviderName;

impl TryFrom<String> for ProviderName {
    type Error = NotAProviderName;

    fn try_from(text: String) -> Result<Self, NotAProviderName> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_name = text.len() <= 40 && text.starts_with(|first: char| first.is_ascii_lowercase()) && text.split('-').all(is_word);
        if is_name { Ok(Self(text)) } else { Err(NotAProviderName) }
    }
}

impl ProviderName {
    /// `acme-id`
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The member that carries the provider's name for a person: `acmeIdUserId`.
    pub fn user_id_member(&self) -> String {
        let mut words = self.0.split('-');
        let mut member = words.next().unwrap_or_default().to_owned();
        for word in words {
            let (first, rest) = word.split_at(1);
            member.push_str(&first.to_ascii_uppercase());
            member.push_str(rest);
        }
        member + "UserId"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_names_a_member() {
        for (name, member) in [("idp-a", "idpAUserId"), ("acme-id", "acmeIdUserId"), ("acme", "acmeUserId"), ("a-2b-c", "a2bCUserId")] {
            assert_eq!(ProviderName::try_from(name.to_owned()).unwrap().user_id_member(), member);
        }
    }

    #[test]
    fn what_cannot_stand_in_a_route_is_refused() {
        for text in ["", "-", "acme-", "-acme", "acme--id", "Acme", "acme id", "acme/id", "{acme}", "1d", "größe", &"a".repeat(41)] {
            assert_eq!(ProviderName::try_from(text.to_owned()), Err(NotAProviderName), "{text:?}");
        }
    }
}
