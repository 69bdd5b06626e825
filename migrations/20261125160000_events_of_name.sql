-- The events of one name are read from an index: without it, whoever asks for a rare one reads all the others.
create index events_of_name on events (company_id, name, created_at, id);
