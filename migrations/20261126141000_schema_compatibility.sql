-- Which versions of the program can work with this schema: those that know the migration `at_least`. Most migrations only add, and leave it
-- as it is. One that takes away what older versions use sets it to the first migration of the version that no longer uses it.
create table schema_compatibility (
    only_row boolean primary key default true check (only_row),
    at_least bigint not null
);
insert into schema_compatibility (at_least) values (20261124000000);
