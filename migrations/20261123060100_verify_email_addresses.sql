-- A customer changes their mail address like their number: by a code that is sent to the new one.
alter table verification_codes
    drop constraint verification_codes_purpose_known,
    add constraint verification_codes_purpose_known
        check (purpose in ('create_account', 'sign_in', 'verify_phone', 'verify_email', 'close_account'));
