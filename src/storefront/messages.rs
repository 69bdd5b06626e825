//! What texts and mails say.

use secrecy::{ExposeSecret, SecretString};

/// A text of one segment (160 characters of the GSM alphabet): the code comes first, where a phone's preview shows it.
pub(super) fn text(store: &str, code: &SecretString) -> String {
    let name: String = store.chars().filter(|character| character.is_ascii_graphic() || *character == ' ').take(40).collect();
    format!("{} is your {} code. It is valid for 10 minutes. Do not share it with anybody.", code.expose_secret(), name.trim())
}

/// Subject and text of a mail.
pub(super) fn mail(store: &str, code: &SecretString) -> (String, String) {
    let code = code.expose_secret();
    let name: String = store.chars().filter(|character| !character.is_control()).take(80).collect();
    let subject = format!("{code} is your {name} code");
    let text = format!(
        "Your {name} verification code is\n\n    {code}\n\nIt is valid for 10 minutes and works once. Do not share it with anybody.\n\
         If you did not ask for it, you can ignore this message.\n"
    );
    (subject, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_fits_one_segment_whatever_the_store_is_called() {
        let text = text(&"Größte Apotheke\r\n".repeat(20), &"012345".into());
        assert!(text.len() <= 160 && text.is_ascii() && text.starts_with("012345 "), "{text}");
    }
}
