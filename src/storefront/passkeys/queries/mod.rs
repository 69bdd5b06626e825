//! The SQL of passkeys.

mod challenges;
mod leaving;
mod own;
mod proving;

pub use challenges::{answer_challenge, is_answered, sweep_challenges};
pub use leaving::{export_passkeys, forget_passkeys, remove_added_since, suspend_passkeys};
pub use own::{
    OwnPasskey, count_passkeys, find_or_make_handle, has_passkey, has_usable, insert_passkey, list_passkeys, remove_passkey,
    rename_passkey, resume_passkey,
};
pub use proving::{KnownPasskey, find_passkey, note_use};
