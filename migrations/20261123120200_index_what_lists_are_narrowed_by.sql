-- A list that is narrowed by a column is read from where it begins or goes on, however many records have something else in that column.
-- What a record need not have is in no index where it has nothing. Columns that change with a position have none.

create index orders_of_company_by_driver on orders (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index orders_of_company_by_customer on orders (company_id, customer_id, created_at, id)
    where deleted_at is null and customer_id is not null;
create index orders_of_company_by_vehicle on orders (company_id, vehicle_id, created_at, id)
    where deleted_at is null and vehicle_id is not null;
create index orders_of_company_by_kind on orders (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index orders_of_company_by_internal_id on orders (company_id, internal_id, created_at, id)
    where deleted_at is null and internal_id is not null;
-- Whether a vehicle can be deleted.
create index orders_open_of_vehicle on orders (vehicle_id)
    where deleted_at is null and status in ('created', 'dispatched', 'started');

create index drivers_of_company_by_status on drivers (company_id, status, created_at, id) where deleted_at is null;
create index drivers_of_company_by_fleet on drivers (company_id, fleet_id, created_at, id)
    where deleted_at is null and fleet_id is not null;
create index drivers_of_company_by_phone on drivers (company_id, phone, created_at, id)
    where deleted_at is null and phone is not null;
create index drivers_of_company_by_email on drivers (company_id, email, created_at, id)
    where deleted_at is null and email is not null;
create index drivers_of_company_by_license_number on drivers (company_id, license_number, created_at, id)
    where deleted_at is null and license_number is not null;

create index vehicles_of_company_by_status on vehicles (company_id, status, created_at, id) where deleted_at is null;
create index vehicles_of_company_by_driver on vehicles (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index vehicles_of_company_by_fleet on vehicles (company_id, fleet_id, created_at, id)
    where deleted_at is null and fleet_id is not null;
create index vehicles_of_company_by_kind on vehicles (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index vehicles_of_company_by_plate_number on vehicles (company_id, plate_number, created_at, id)
    where deleted_at is null and plate_number is not null;
create index vehicles_of_company_by_vin on vehicles (company_id, vin, created_at, id)
    where deleted_at is null and vin is not null;

create index fleets_of_company_by_status on fleets (company_id, status, created_at, id) where deleted_at is null;
create index fleets_of_company_by_parent on fleets (company_id, parent_id, created_at, id)
    where deleted_at is null and parent_id is not null;

create index issues_of_company_by_status on issues (company_id, status, created_at, id) where deleted_at is null;
create index issues_of_company_by_priority on issues (company_id, priority, created_at, id) where deleted_at is null;
create index issues_of_company_by_kind on issues (company_id, kind, created_at, id)
    where deleted_at is null and kind is not null;
create index issues_of_company_by_category on issues (company_id, category, created_at, id)
    where deleted_at is null and category is not null;
create index issues_of_company_by_driver on issues (company_id, driver_id, created_at, id)
    where deleted_at is null and driver_id is not null;
create index issues_of_company_by_vehicle on issues (company_id, vehicle_id, created_at, id)
    where deleted_at is null and vehicle_id is not null;
create index issues_of_company_by_order on issues (company_id, order_id, created_at, id)
    where deleted_at is null and order_id is not null;

create index proofs_of_company_by_tracking_number on proofs (company_id, tracking_number, created_at, id) where deleted_at is null;
create index proofs_of_company_by_kind on proofs (company_id, kind, created_at, id) where deleted_at is null;

create index tracking_numbers_of_company_by_number on tracking_numbers (company_id, tracking_number, created_at, id)
    where deleted_at is null;
create index tracking_statuses_of_company_by_status on tracking_statuses (company_id, status, created_at, id) where deleted_at is null;

create index payments_of_company_by_gateway on payments (company_id, gateway_id, created_at, id) where deleted_at is null;
create index payments_of_company_by_transaction on payments (company_id, transaction_id, created_at, id) where deleted_at is null;
create index payments_of_company_by_status on payments (company_id, status, created_at, id) where deleted_at is null;
create index payments_of_company_by_customer on payments (company_id, customer_id, created_at, id)
    where deleted_at is null and customer_id is not null;

create index callbacks_of_company_by_gateway on callbacks (company_id, gateway_id, created_at, id)
    where deleted_at is null and gateway_id is not null;
create index callbacks_of_company_by_key on callbacks (company_id, key, created_at, id) where deleted_at is null;
create index callbacks_of_company_by_status on callbacks (company_id, status, created_at, id) where deleted_at is null;
create index callbacks_of_company_by_reason on callbacks (company_id, reason, created_at, id)
    where deleted_at is null and reason is not null;
