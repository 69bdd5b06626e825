-- In a transaction of its own, so that callbacks are taken while the rows are read.
alter table gateways validate constraint gateways_previous_signing_secret_ends;
