-- An endpoint that answers 429 or 503 with Retry-After asks for silence: no delivery is made to it until then.

alter table endpoints add column silent_until timestamptz;
comment on column endpoints.silent_until is
    'Until then the endpoint has asked to be left alone, by all deliveries. Afterwards one is sent on trial, as with a half-open circuit. Null: it has not asked, or has accepted a delivery since.';

comment on column waiting.lane is
    '0: the first attempt; 1: retries; 2: behind another one of its chain, not to be claimed yet; 3: replays, and their retries; 4: held, because the circuit of the endpoint is open, or it has asked for silence';
