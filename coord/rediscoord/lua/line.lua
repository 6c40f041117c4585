-- line: what each script begins with; the key's state, and who is next.
-- KEYS  1 the key's hash: fence, holder, until, lease, since, before, clean, passed, deaths;
--         t:<ticket> for each ticket in line; x:<ticket> for each that was passed
-- ARGV  1 ticket   2 channel_prefix   3 idle_ms   4 keep_ms
-- GIVES nothing; sets at, line, marks, and the functions below
local key, me = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at, line, marks = {}, {}, {}

local function whole(n) return string.format('%.0f', n) end
local function incarnation(ticket) return string.match(ticket, '^(.*)/%d+$') end
local function publish(ticket, message)
  redis.call('PUBLISH', ARGV[2] .. incarnation(ticket), ticket .. ' ' .. message .. ' ' .. key)
end
local function put(t)
  redis.call('HSET', key, 't:' .. t.id, table.concat({whole(t.order), t.arrival, whole(t.place),
    whole(t.floor), whole(t.till), t.lease}, ' '))
  t.stored = true
end

-- clamp: a deadline further away than its lease was set before the clock went back.
local function clamp(till, lease) return math.min(tonumber(till), now + lease) end

local function ticket(id, value)
  local order, arrival, place, floor, till, lease = string.match(value, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  local t = {id = id, order = tonumber(order), arrival = tonumber(arrival), place = tonumber(place),
    floor = tonumber(floor), till = clamp(till, lease), lease = tonumber(lease), stored = true}
  if t.till <= now then return redis.call('HDEL', key, 't:' .. id) end
  if t.till < tonumber(till) then put(t) end
  line[#line + 1] = t
end

local fields = redis.call('HGETALL', key)
for i = 1, #fields, 2 do
  local name, value = fields[i], fields[i + 1]
  local kind = string.sub(name, 1, 2)
  if kind == 't:' then
    ticket(string.sub(name, 3), value)
  elseif kind == 'x:' then
    local passed, till = string.match(value, '^(%d+) (%d+)$')
    if tonumber(till) > now then marks[string.sub(name, 3)] = tonumber(passed) else redis.call('HDEL', key, name) end
  elseif value ~= '' then
    at[name] = value
  end
end
if #line > 1 then
  table.sort(line, function(a, b)
    if a.order ~= b.order then return a.order < b.order end
    return a.arrival < b.arrival
  end)
end

-- vacate: nobody holds the key any more.
local function vacate(clean)
  at.before, at.clean, at.holder, at.since = incarnation(at.holder), clean, nil, nil
  at.deaths = clean == '0' and whole(tonumber(at.deaths or 0) + 1) or nil
end

-- expire: the holder's lease may have run out.
local function expire()
  if not at.holder then return end
  at['until'] = clamp(at['until'], at.lease)
  if at['until'] <= now then vacate('0') end
end

-- grant: if nobody holds the key, the first in line does. Its lease ends when its
-- ticket would have: a lease after its owner was last heard of.
local function grant()
  local t = not at.holder and table.remove(line, 1)
  if not t then return end
  -- The clock is in it so that a counter that was lost or went back never repeats.
  at.fence = math.max(tonumber(at.fence or 0) + 1, t.floor + 1, time[1] * 1000000 + time[2])
  at.holder, at['until'], at.lease, at.since = t.id, t.till, t.lease, whole(now)
  if t.stored then redis.call('HDEL', key, 't:' .. t.id) end
  return t
end

-- recall: gives the key back to a ticket that held it before Redis lost its memory,
-- if nobody did since: whoever did has a higher fence.
local function recall(fence)
  if at.holder or tonumber(at.fence or 0) >= fence then return end
  at.holder, at['until'], at.lease, at.fence, at.since = me, now, 0, fence, whole(now)
  for i, t in ipairs(line) do
    if t.id == me then
      redis.call('HDEL', key, 't:' .. me)
      table.remove(line, i)
      break
    end
  end
end

-- behind: how many tickets are in line, and the highest place of them.
local function behind()
  local highest = 0
  for _, t in ipairs(line) do highest = math.max(highest, t.place) end
  return #line, highest
end

-- wake: tells the owner of a ticket that its turn came.
local function wake(t)
  local tickets, highest = behind()
  publish(t.id, table.concat({'granted', whole(at.fence), at.clean or '0', at.passed or '0', tickets,
    whole(highest), at.before or '-'}, ' '))
end

-- save: writes the state back. An idle key is kept for a while, one whose last
-- holder did not release it for longer.
local function save()
  if at.fence then
    redis.call('HSET', key, 'fence', whole(at.fence), 'holder', at.holder or '', 'until', whole(at['until'] or 0),
      'lease', at.lease or '', 'since', at.since or '', 'before', at.before or '', 'clean', at.clean or '',
      'passed', at.passed or '', 'deaths', at.deaths or '')
  end
  local idle = not at.holder and #line == 0 and at.clean == '1'
  redis.call('PEXPIRE', key, idle and ARGV[3] or ARGV[4])
end
