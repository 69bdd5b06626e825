-- Until when the certificate of an endpoint is valid, so that somebody renews it before deliveries fail.

alter table endpoints add column certificate_expires_at timestamptz;
create index endpoints_by_certificate on endpoints (certificate_expires_at) where certificate_expires_at is not null;
comment on column endpoints.certificate_expires_at is
    'The end of the certificate that the endpoint presented last. Null: nothing was sent to its URL yet. Written with the attempts, and seldom changed.';
