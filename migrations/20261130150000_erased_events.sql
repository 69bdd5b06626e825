comment on table events is
    'Everything that happened, written in the transaction that made it happen; changed only to erase the data of a person. Partitioned by day.';
comment on column events.body is 'The envelope, exactly as it is signed and sent.';
comment on view event_log is 'Events, which change only when the data of a person is erased.';
