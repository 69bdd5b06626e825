-- A company can be moved to another cell, another database. Each of the two knows how far it is.

create table company_moves (
    company_id uuid not null,
    -- the other one
    cell text not null,
    stage text not null,
    -- since when the company is suspended, the move aside
    suspended_at timestamptz,
    begun_at timestamptz not null,
    constraint company_moves_pkey primary key (company_id),
    constraint company_moves_company_id_fkey foreign key (company_id) references companies (id),
    constraint company_moves_stage_known check (stage in ('preparing', 'leaving', 'left', 'arriving', 'arrived'))
);
comment on table company_moves is 'Companies on their way from or to another cell. Until one has arrived, it is suspended in both.';
comment on column company_moves.stage is
    'preparing: here, and its deliveries are held; leaving: here, and nobody changes it; left: elsewhere, what remains here is its log; arriving: here, but not yet for sure; arrived: here, its log is on its way.';

create view company_standings as
select id as company_id, suspended_at is not null as suspended,
       exists (select from company_moves where company_moves.company_id = companies.id and stage <> 'arrived') as moving
from companies;
comment on view company_standings is 'Whether companies are served. One that is moving is suspended as well.';

create view moving_companies as
select company_id, stage = 'arrived' as arrived from company_moves where stage <> 'preparing';
comment on view moving_companies is 'Companies whose events nobody hands to subscribers here; once one has arrived, only its log is missing.';
