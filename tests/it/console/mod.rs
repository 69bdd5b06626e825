//! The console: decisions, section 9.

mod certificates;
mod charts;
mod customers;
mod first_sign_in;
mod hostile;
mod invitations;
mod live;
mod mailbox;
mod notices;
mod payments;
mod proofs;
mod provider_sign_in;
mod reach;
mod records;
mod requests;
mod roles;
mod searching;
mod second_factor;
mod servers;
mod several_companies;
mod sign_in;
mod style;
mod texts;
mod webhooks;
