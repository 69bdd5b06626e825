//! The console in a browser.

mod browser;
mod browser_access;
mod operating;
mod scripts;
