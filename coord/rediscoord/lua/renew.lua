-- renew: lets a turn last another lease, if it is still this ticket's, or was and Redis forgot.
-- KEYS  1 the key's hash
-- ARGV  1 ticket   2 channel_prefix   3 idle_ms   4 keep_ms   5 lease_ms   6 fence
-- GIVES {1, tickets, highest} kept | {0, 0} lost, nobody else holds it | {0, 1} lost to another
expire()
recall(tonumber(ARGV[6]))
if at.holder == me then
  local lease = tonumber(ARGV[5])
  at['until'], at.lease = now + lease, lease
  save()
  return {1, behind()}
end
local next = grant()
if next then wake(next) end
save()
return {0, at.holder and 1 or 0}
