-- What happened to a record is read from an index, however many events its company has.
create index events_of_subject on events (subject_id, created_at, id) where subject_id is not null;
