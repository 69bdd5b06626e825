//! SIGINT (Ctrl-C) and SIGTERM.
//!
//! The first process of a container is not ended by a signal that it does not listen to, so every command listens.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a shell adds to the number of the signal that has ended a program.
const ENDED_BY: i32 = 128;

/// A token that is cancelled by SIGINT or SIGTERM. A second signal ends the program immediately.
pub fn shutdown() -> CancellationToken {
    let token = CancellationToken::new();
    let shutdown = token.clone();
    listen(move |status| {
        if shutdown.is_cancelled() {
            std::process::exit(status);
        }
        shutdown.cancel();
    });
    token
}

/// From now on, SIGINT or SIGTERM ends the program immediately.
pub fn end_program() {
    listen(|status| std::process::exit(status));
}

/// Calls `heard` at each signal, with the exit status of a program that it has ended.
fn listen(heard: impl Fn(i32) + Send + 'static) {
    let listening = async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else { return };
        loop {
            let kind = tokio::select! {
                _ = interrupt.recv() => SignalKind::interrupt(),
                _ = terminate.recv() => SignalKind::terminate(),
            };
            heard(ENDED_BY + kind.as_raw_value());
        }
    };
    #[expect(clippy::disallowed_methods, reason = "it must outlive all stoppable tasks to receive the second signal")]
    tokio::spawn(listening);
}
