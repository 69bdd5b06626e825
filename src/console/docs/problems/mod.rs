//! What a problem means, when it happens, what to do, and which operations answer it.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};

use crate::console::Console;
use crate::console::docs::frame::Frame;
use crate::console::docs::reader::Reader;
use crate::console::docs::words::Words;
use crate::console::shell::{Page, PageError, Ui};
use crate::handbook::{Chapter, Operation, Section};
use crate::kernel::problem::{Problem, ProblemCode};

/// Per line a code, when it happens, and what to do.
const ADVICE: &str = include_str!("advice.tsv");

#[derive(Template)]
#[template(path = "docs/problems/list.html")]
struct ListPage {
    ui: Ui,
    frame: Frame,
    codes: &'static [ProblemCode],
}

#[derive(Template)]
#[template(path = "docs/problems/problem.html")]
struct ProblemPage<'a> {
    ui: Ui,
    frame: Frame,
    code: ProblemCode,
    when: Words,
    what_to_do: Words,
    sample: String,
    operations: Vec<(&'a Section, &'a Chapter, &'a Operation)>,
}

/// When a problem happens, and what to do.
fn advice(code: ProblemCode) -> (&'static str, &'static str) {
    let lines = ADVICE.lines().filter_map(|line| line.split_once('\t')).filter(|(known, _)| *known == code.as_str());
    lines.filter_map(|(_, rest)| rest.split_once('\t')).next().unwrap_or_default()
}

/// `GET /docs/problems`
pub(super) async fn list(reader: Reader) -> Response {
    Page(ListPage { ui: reader.ui, frame: reader.frame, codes: ProblemCode::ALL }).into_response()
}

/// `GET /docs/problems/{code}`
pub(super) async fn show(State(console): State<Console>, reader: Reader, Path(name): Path<String>) -> Result<Response, PageError> {
    let code = *ProblemCode::ALL.iter().find(|code| code.as_str() == name).ok_or(PageError::NOT_FOUND)?;
    let (when, what_to_do) = advice(code);
    let answers = |(_, _, operation): &(_, _, &Operation)| operation.refusals.iter().any(|refusal| refusal.code == code);
    let page = ProblemPage {
        ui: reader.ui,
        frame: reader.frame,
        code,
        when: Words(when.to_owned()),
        what_to_do: Words(what_to_do.to_owned()),
        sample: format!("{:#}", Problem::new(code).body("6d2c4a0f1b8e49f3a7c5d1e2f3a4b5c6")),
        operations: console.handbook.contents().operations().filter(answers).collect(),
    };
    Ok(Page(page).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_says_when_it_happens_and_what_to_do() {
        for code in ProblemCode::ALL {
            let (when, what_to_do) = advice(*code);
            assert!(when.ends_with('.') && what_to_do.ends_with('.'), "{} has no line in advice.tsv", code.as_str());
        }
        assert_eq!(ADVICE.lines().count(), ProblemCode::ALL.len(), "advice.tsv has lines of codes that do not exist");
    }
}
