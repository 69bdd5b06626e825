-- A push device belongs to the session that registered it, and ends with it: whoever is signed out gets no more notifications.

alter table devices add column session_id uuid;
comment on column devices.session_id is
    'The session that registered it last; null for what was registered before sessions had devices, which ends with all sessions of the customer.';

create view session_ends as
select uuid as id, customer_id, least(expires_at, revoked_at) as ended_at from customer_tokens;
comment on view session_ends is 'When each session has ended or, unless it is used again, will expire.';
