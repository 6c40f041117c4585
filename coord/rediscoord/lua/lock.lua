-- lock: takes, renews or releases a lock. Taking one again by the same token changes nothing but its end.
-- KEYS  1 the lock's hash: fence, holder, until, lease, since, before, clean
-- ARGV  1 token   2 verb (take, renew or release)   3 idle_ms   4 ttl_ms
-- GIVES {1, fence} done | {2, left_ms} another holds it | {3} nobody holds it
local key, token, verb, idle, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function whole(n) return string.format('%.0f', n) end

local is = redis.call('HMGET', key, 'fence', 'holder', 'until', 'lease')
local fence, holder = tonumber(is[1] or 0), is[2] or ''

-- vacate: nobody holds the lock any more; its holder released it, or it ran out.
local function vacate(clean)
  redis.call('HSET', key, 'holder', '', 'before', string.match(holder, '^(.*)/%d+$') or '', 'clean', clean)
  holder = ''
end

-- An end further away than the lock's length was set before the clock went back.
local left = math.min(tonumber(is[3] or 0) - now, tonumber(is[4] or 0))
if holder ~= '' and left <= 0 then vacate('0') end

if holder ~= '' and holder ~= token then return {2, left} end
if verb == 'release' and holder == token then
  vacate('1')
  redis.call('PEXPIRE', key, idle)
  return {1, fence}
end
if holder == '' then
  if verb ~= 'take' then return {3} end
  -- The clock is in it so that a counter that was lost or went back never repeats.
  fence = math.max(fence + 1, time[1] * 1000000 + time[2])
  redis.call('HSET', key, 'fence', whole(fence), 'holder', token, 'since', whole(now))
end
redis.call('HSET', key, 'until', whole(now + ttl), 'lease', whole(ttl))
redis.call('PEXPIRE', key, ttl + idle)
return {1, fence}
