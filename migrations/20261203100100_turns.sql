-- Rows that stand for what one transaction at a time does, which has them locked until it ends. Their contents say nothing.

create table notifying_turn (
    is_one boolean not null default true,
    constraint notifying_turn_pkey primary key (is_one),
    constraint notifying_turn_one check (is_one)
);
insert into notifying_turn default values;
comment on table notifying_turn is 'Its row is locked by the transaction that notifies of events. Others that find it locked notify nobody.';

create table declaring_turn (
    is_one boolean not null default true,
    constraint declaring_turn_pkey primary key (is_one),
    constraint declaring_turn_one check (is_one)
);
insert into declaring_turn default values;
comment on table declaring_turn is 'Its row is locked by the transaction that stores schemas of declared extensions. Others wait for it.';
