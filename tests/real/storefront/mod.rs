//! The guides of the storefront in a browser.

mod passkeys;
