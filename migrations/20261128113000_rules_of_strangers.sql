-- In a transaction of its own, so that texts are sent while the rows are read.
alter table texts validate constraint texts_rule_known;
alter table stores validate constraint stores_limits_of_strangers_positive;
alter table stores validate constraint stores_percents_sensible;
