//! What does not fit, in words that a customer may read. Serde says it in the words of the program: `invalid type: sequence, expected struct
//! LoginRequest with 2 elements`.

use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};

/// Explains an error of serde about the member at `path`; `.` is the whole body.
pub(super) fn explain(path: &str, error: &str) -> Problem {
    // serde names a missing, unknown or repeated field only in its message, not in the path.
    for (start, sentence) in [
        ("missing field `", "{} is required."),
        ("unknown field `", "{} is not a known field."),
        ("duplicate field `", "{} is there twice."),
    ] {
        if let Some(field) = error.strip_prefix(start).and_then(|rest| rest.split('`').next()) {
            return FieldErrors::one(field, Sentence::new(sentence).with(field));
        }
    }
    let reason = error.split(" at line ").next().unwrap_or(error);
    match path {
        "." => Problem::new(ProblemCode::BodyInvalid).detail(of_body(reason)),
        // Our own types return whole sentences.
        field if reason.ends_with('.') => FieldErrors::one(field, reason.to_owned()),
        field => FieldErrors::one(field, of_member(reason).with(field)),
    }
}

fn of_body(reason: &str) -> Sentence {
    match expected(reason) {
        Some(Form::Object) => "The body must be a JSON object.".into(),
        Some(Form::List) => "The body must be a list.".into(),
        _ if reason.ends_with('.') => reason.to_owned().into(),
        _ => "The body does not have the form this address takes.".into(),
    }
}

/// A sentence with a place for the name of the member.
fn of_member(reason: &str) -> Sentence {
    Sentence::new(match expected(reason) {
        Some(Form::Object) => "{} must be an object.",
        Some(Form::List) => "{} must be a list.",
        Some(Form::Text) => "{} must be text.",
        Some(Form::Truth) => "{} must be true or false.",
        Some(Form::Whole) => "{} must be a whole number, and not too large.",
        Some(Form::Number) => "{} must be a number.",
        Some(Form::Word) => "{} must be one of the words that this address takes.",
        None => "{} does not have the form this address takes.",
    })
}

/// What a member must be.
enum Form {
    Object,
    List,
    Text,
    Truth,
    Whole,
    Number,
    Word,
}

/// What serde expected. Its own descriptions are few; those of other types are not words for customers.
fn expected(reason: &str) -> Option<Form> {
    if reason.starts_with("unknown variant `") {
        return Some(Form::Word);
    }
    // What serde_json says of a number that no integer of the program can be.
    if reason == "invalid number" {
        return Some(Form::Whole);
    }
    let (_, expected) = reason.rsplit_once(", expected ")?;
    match expected {
        "an object" | "a map" | "map" => Some(Form::Object),
        "a sequence" => Some(Form::List),
        "a string" | "a borrowed string" | "a character" => Some(Form::Text),
        "a boolean" => Some(Form::Truth),
        "f32" | "f64" | "a JSON number" => Some(Form::Number),
        "string or map" => Some(Form::Word),
        _ if expected.starts_with("enum ") || expected.starts_with("variant ") => Some(Form::Word),
        _ if expected.starts_with("struct ") => Some(Form::Object),
        whole if whole.strip_prefix(['i', 'u']).is_some_and(|bits| bits.parse::<u8>().is_ok()) => Some(Form::Whole),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use crate::kernel::json::{from_value, parse};

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Size {
        Small,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsing is tested")]
    struct Order {
        note: String,
        count: u32,
        price: f64,
        gift: bool,
        size: Size,
        items: Vec<Item>,
        id: uuid::Uuid,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsing is tested")]
    struct Item {
        name: String,
    }

    #[test]
    fn what_does_not_fit_is_told_in_words() {
        let fits = json!({
            "note": "", "count": 1, "price": 1.5, "gift": true, "size": "small", "items": [{ "name": "a" }],
            "id": "00000000-0000-0000-0000-000000000000",
        });
        assert!(from_value::<Order>(fits.clone()).is_ok());
        for (member, wrong, field, sentence) in [
            ("note", json!(5), "note", "note must be text."),
            ("note", json!(null), "note", "note must be text."),
            ("count", json!(-1), "count", "count must be a whole number, and not too large."),
            ("count", json!("1"), "count", "count must be a whole number, and not too large."),
            ("price", json!("1"), "price", "price must be a number."),
            ("gift", json!(1), "gift", "gift must be true or false."),
            ("size", json!("huge"), "size", "size must be one of the words that this address takes."),
            ("size", json!(5), "size", "size must be one of the words that this address takes."),
            ("items", json!({}), "items", "items must be a list."),
            ("items", json!([["a"]]), "items[0]", "items[0] must be an object."),
            ("items", json!([{ "name": [] }]), "items[0].name", "items[0].name must be text."),
            ("items", json!([{}]), "name", "name is required."),
            ("id", json!("x"), "id", "id does not have the form this address takes."),
        ] {
            let mut body = fits.clone();
            body[member] = wrong;
            let refusals = [from_value::<Order>(body.clone()), parse::<Order>(body.to_string().as_bytes())];
            for refusal in refusals.map(|refused| refused.unwrap_err().body("r")) {
                assert_eq!(refusal["fields"][field][0], sentence, "{body}: {refusal}");
            }
        }
        for whole in ["[]", "5", "null", "\"text\"", "true", r#"["a",1]"#] {
            let refusal = parse::<Order>(whole.as_bytes()).unwrap_err().body("r");
            assert_eq!(
                (&refusal["detail"], &refusal["code"]),
                (&json!("The body must be a JSON object."), &json!("body_invalid")),
                "{whole}"
            );
        }
    }
}
