//! Errors as the log writes them.

/// An error with its chain of sources, for the single line that logs it. Errors of some libraries tell their source themselves, so a cause
/// that was told already is left out.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.ends_with(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failed {
        #[error("the server refuses")]
        Server,
        #[error("not connected: {0}")]
        TellsItsSource(#[source] Box<Failed>),
        #[error("the report was not written")]
        Report(#[source] Box<Failed>),
    }

    #[test]
    fn every_cause_is_told_once() {
        let refused = Failed::TellsItsSource(Box::new(Failed::TellsItsSource(Box::new(Failed::Server))));
        let failed = Failed::Report(Box::new(refused));
        assert_eq!(chain(&failed), "the report was not written: not connected: not connected: the server refuses");
    }
}
