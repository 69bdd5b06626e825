-- In a file of its own, so that nothing else is locked meanwhile.
alter table verification_codes drop constraint verification_codes_purpose_known;
alter table verification_codes add constraint verification_codes_purpose_known
    check (purpose in ('create_account', 'sign_in', 'verify_phone', 'verify_email', 'close_account', 'step_up')) not valid;
alter table verification_codes validate constraint verification_codes_purpose_known;
