//! The portal in a browser.

mod browser;
