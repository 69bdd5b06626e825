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

/// The longest chain that is shown, in characters.
const LONGEST_SHOWN: usize = 300;

/// The beginning of a chain, for whoever caused the error: what a stranger's server said may be part of it.
pub fn shown_chain(error: &dyn std::error::Error) -> String {
    let mut text = chain(error);
    if let Some((end, _)) = text.char_indices().nth(LONGEST_SHOWN) {
        text.truncate(end);
        text.push('…');
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
    fn what_is_shown_is_cut_between_characters() {
        let shown = |length: usize| shown_chain(&std::io::Error::other("ü".repeat(length)));
        assert_eq!(shown(300), "ü".repeat(300));
        assert_eq!(shown(301), format!("{}…", "ü".repeat(300)));
    }

    #[test]
    fn every_cause_is_told_once() {
        let refused = Failed::TellsItsSource(Box::new(Failed::TellsItsSource(Box::new(Failed::Server))));
        let failed = Failed::Report(Box::new(refused));
        assert_eq!(chain(&failed), "the report was not written: not connected: not connected: the server refuses");
    }
}
