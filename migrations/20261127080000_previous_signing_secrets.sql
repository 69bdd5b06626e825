-- A gateway learns its new signing secret at another moment than this service does, so both secrets verify its callbacks for a while.
alter table gateways add column previous_signing_secret bytea;
alter table gateways add column previous_signing_secret_until timestamptz;
alter table gateways add constraint gateways_previous_signing_secret_ends
    check ((previous_signing_secret is null) = (previous_signing_secret_until is null)) not valid;
comment on column gateways.previous_signing_secret is 'The signing secret before the current one, as long as a rotation overlaps; never returned.';
comment on column gateways.previous_signing_secret_until is 'Until then callbacks that are signed with the previous signing secret are accepted as well.';
