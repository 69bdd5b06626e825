//! The field of a request body that is named after a provider.

/// The name of the field with the provider's id of a person: `acmeIdUserId` for the provider `acme-id`.
pub fn user_id_member(name: &str) -> String {
    let mut words = name.split('-').filter(|word| !word.is_empty());
    let mut member = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        member.push_str(&first.to_ascii_uppercase());
        member.push_str(rest);
    }
    member + "UserId"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_names_a_member() {
        for (name, member) in [
            ("idp-a", "idpAUserId"),
            ("idp-c", "idpCUserId"),
            ("acme-id", "acmeIdUserId"),
            ("acme", "acmeUserId"),
            ("a-2b-c", "a2bCUserId"),
            ("a--b-", "aBUserId"),
        ] {
            assert_eq!(user_id_member(name), member);
        }
    }
}
