-- The nine tables of TPC-C (standard specification, revision 5.11, clause 1.3), with its primary and foreign keys.
-- Written from the specification; columns are in its order, and nothing was added for sharding.
create table warehouse (
    w_id integer not null,
    w_name varchar(10),
    w_street_1 varchar(20),
    w_street_2 varchar(20),
    w_city varchar(20),
    w_state char(2),
    w_zip char(9),
    w_tax numeric(4, 4),
    w_ytd numeric(12, 2),
    primary key (w_id)
);
create table district (
    d_id integer not null,
    d_w_id integer not null,
    d_name varchar(10),
    d_street_1 varchar(20),
    d_street_2 varchar(20),
    d_city varchar(20),
    d_state char(2),
    d_zip char(9),
    d_tax numeric(4, 4),
    d_ytd numeric(12, 2),
    d_next_o_id integer,
    primary key (d_w_id, d_id),
    foreign key (d_w_id) references warehouse (w_id)
);
create table customer (
    c_id integer not null,
    c_d_id integer not null,
    c_w_id integer not null,
    c_first varchar(16),
    c_middle char(2),
    c_last varchar(16),
    c_street_1 varchar(20),
    c_street_2 varchar(20),
    c_city varchar(20),
    c_state char(2),
    c_zip char(9),
    c_phone char(16),
    c_since timestamp,
    c_credit char(2),
    c_credit_lim numeric(12, 2),
    c_discount numeric(4, 4),
    c_balance numeric(12, 2),
    c_ytd_payment numeric(12, 2),
    c_payment_cnt numeric(4),
    c_delivery_cnt numeric(4),
    c_data varchar(500),
    primary key (c_w_id, c_d_id, c_id),
    foreign key (c_w_id, c_d_id) references district (d_w_id, d_id)
);
create index customer_last on customer (c_w_id, c_d_id, c_last, c_first);
-- "Primary Key: none", says the specification.
create table history (
    h_c_id integer,
    h_c_d_id integer,
    h_c_w_id integer,
    h_d_id integer,
    h_w_id integer,
    h_date timestamp,
    h_amount numeric(6, 2),
    h_data varchar(24),
    foreign key (h_c_w_id, h_c_d_id, h_c_id) references customer (c_w_id, c_d_id, c_id),
    foreign key (h_w_id, h_d_id) references district (d_w_id, d_id)
);
create table orders (
    o_id integer not null,
    o_d_id integer not null,
    o_w_id integer not null,
    o_c_id integer,
    o_entry_d timestamp,
    o_carrier_id integer,
    o_ol_cnt numeric(2),
    o_all_local numeric(1),
    primary key (o_w_id, o_d_id, o_id),
    foreign key (o_w_id, o_d_id, o_c_id) references customer (c_w_id, c_d_id, c_id)
);
create index orders_customer on orders (o_w_id, o_d_id, o_c_id, o_id);
create table new_order (
    no_o_id integer not null,
    no_d_id integer not null,
    no_w_id integer not null,
    primary key (no_w_id, no_d_id, no_o_id),
    foreign key (no_w_id, no_d_id, no_o_id) references orders (o_w_id, o_d_id, o_id)
);
create table item (
    i_id integer not null,
    i_im_id integer,
    i_name varchar(24),
    i_price numeric(5, 2),
    i_data varchar(50),
    primary key (i_id)
);
create table stock (
    s_i_id integer not null,
    s_w_id integer not null,
    s_quantity numeric(4),
    s_dist_01 char(24),
    s_dist_02 char(24),
    s_dist_03 char(24),
    s_dist_04 char(24),
    s_dist_05 char(24),
    s_dist_06 char(24),
    s_dist_07 char(24),
    s_dist_08 char(24),
    s_dist_09 char(24),
    s_dist_10 char(24),
    s_ytd numeric(8),
    s_order_cnt numeric(4),
    s_remote_cnt numeric(4),
    s_data varchar(50),
    primary key (s_w_id, s_i_id),
    foreign key (s_w_id) references warehouse (w_id),
    foreign key (s_i_id) references item (i_id)
);
create table order_line (
    ol_o_id integer not null,
    ol_d_id integer not null,
    ol_w_id integer not null,
    ol_number integer not null,
    ol_i_id integer,
    ol_supply_w_id integer,
    ol_delivery_d timestamp,
    ol_quantity numeric(2),
    ol_amount numeric(6, 2),
    ol_dist_info char(24),
    primary key (ol_w_id, ol_d_id, ol_o_id, ol_number),
    foreign key (ol_w_id, ol_d_id, ol_o_id) references orders (o_w_id, o_d_id, o_id),
    foreign key (ol_supply_w_id, ol_i_id) references stock (s_w_id, s_i_id)
);
