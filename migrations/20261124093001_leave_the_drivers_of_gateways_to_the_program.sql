-- The program has one list of its drivers, with what each of them needs, and validates gateways by it.
alter table gateways
    drop constraint gateways_driver_known,
    drop constraint gateways_card_has_key;
comment on column gateways.driver is 'How the gateway is spoken to; it says what the other columns mean. The drivers are those of the program.';
