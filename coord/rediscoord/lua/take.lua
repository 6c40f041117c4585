-- take: puts a ticket in line or keeps it there, and grants it the turn if it is next; one that only tries does not wait.
-- KEYS  1 the key's hash
-- ARGV  1 ticket   2 channel_prefix   3 idle_ms   4 keep_ms   5 lease_ms   6 place   7 floor   8 try (0 or 1)
-- GIVES {1, fence, before, clean, passed, tickets, highest} granted | {2, holder_ms} waiting | {3, passed} passed
local lease = tonumber(ARGV[5])
local function granted()
  at['until'], at.lease = now + lease, lease
  save()
  return {1, tonumber(at.fence), at.before or '', tonumber(at.clean or 0), tonumber(at.passed or 0), behind()}
end

expire()
if at.holder == me then return granted() end
if marks[me] then
  redis.call('HDEL', key, 'x:' .. me)
  return {3, marks[me]}
end

local mine
for _, t in ipairs(line) do
  if t.id == me then mine = t end
end
if not mine then
  local place = tonumber(ARGV[6])
  mine = {id = me, place = place, order = place, floor = tonumber(ARGV[7]), arrival = 1}
  for _, t in ipairs(line) do
    mine.arrival = math.max(mine.arrival, t.arrival + 1)
    if place == 0 then mine.order = math.max(mine.order, t.order) end
  end
  local i = 1
  while line[i] and line[i].order <= mine.order do i = i + 1 end
  table.insert(line, i, mine)
end
mine.till, mine.lease = now + lease, lease

local next = grant()
if next == mine then return granted() end
if ARGV[8] == '0' then put(mine) end
if next then wake(next) end
save()
return {2, at['until'] - now}
