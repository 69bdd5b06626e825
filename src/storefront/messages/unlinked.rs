//! Names that a client chooses, in messages. A client names its device at a sign-in, so a thief could have us mail a customer the address of a page:
//! mail programs make a link of everything that looks like an address.

use crate::storefront::messages::store_name::visible;

/// The name with a blank behind each sign that joins the parts of an address, so that no program takes it for one, and without the marks that turn
/// the text around it.
pub(super) fn unlinked(name: &str) -> String {
    let mut told = String::with_capacity(name.len());
    let mut characters = name.chars().map(visible).peekable();
    while let Some(character) = characters.next() {
        told.push(character);
        // The dots of other scripts join the parts of a domain as well. A number keeps its decimal point.
        let joins = match characters.peek() {
            None => false,
            Some(next) => match character {
                '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => !next.is_whitespace() && !next.is_ascii_digit(),
                ':' | '@' => !next.is_whitespace(),
                _ => false,
            },
        };
        if joins {
            told.push(' ');
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_looks_like_an_address() {
        for (name, told) in [
            ("https://evil.example/verify?a=b", "https: //evil. example/verify?a=b"),
            ("www.evil.example", "www. evil. example"),
            ("eve@evil.example", "eve@ evil. example"),
            ("mailto:eve@evil.example", "mailto: eve@ evil. example"),
            ("evil\u{3002}example", "evil\u{3002} example"),
            ("Ada\u{2019}s phone", "Ada\u{2019}s phone"),
            ("Ada\u{202e}elpmaxe.live", "Ada elpmaxe. live"),
            ("St. Mary's tablet no. 2.0", "St. Mary's tablet no. 2.0"),
            ("Shop, iOS, Ada's phone.", "Shop, iOS, Ada's phone."),
            ("", ""),
        ] {
            assert_eq!(unlinked(name), told);
            assert_eq!(unlinked(told), told, "it is told the same twice");
        }
    }
}
