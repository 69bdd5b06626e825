//! Passkeys in a browser.

mod in_a_browser;
