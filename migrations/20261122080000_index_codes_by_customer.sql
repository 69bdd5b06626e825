-- What a customer asked for, and what opens their account, is looked up by them alone.
create index verification_codes_requested_by on verification_codes (requested_by) where requested_by is not null;
create index verification_codes_customer_id on verification_codes (customer_id) where customer_id is not null;
