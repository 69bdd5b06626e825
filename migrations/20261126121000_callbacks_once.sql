-- The constraint keeps its name, which every edition of the program knows.
drop index callbacks_once;
alter index callbacks_once_by_variant rename to callbacks_once;
