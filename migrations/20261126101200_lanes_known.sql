alter table waiting validate constraint waiting_lane_known;
