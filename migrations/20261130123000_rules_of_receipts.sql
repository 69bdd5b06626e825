-- In a transaction of its own, so that texts are sent while the rows are read.
alter table texts validate constraint texts_rule_known;
alter table texts validate constraint texts_delivery_known;
alter table texts validate constraint texts_delivery_dated;
alter table stores validate constraint stores_challenge_known;
