-- release: gives a turn up or takes a ticket back, drops the tickets it passed and grants the next.
-- KEYS  1 the key's hash
-- ARGV  1 ticket   2 channel_prefix   3 idle_ms   4 keep_ms   5 passed   6 used (0 or 1)   7 fence
-- GIVES {1} the turn was released | {2} there was no such turn, nobody else holds it | {3} another holds it
recall(tonumber(ARGV[7]))
local released = at.holder == me
local passed = released and tonumber(ARGV[5]) or 0
if released then
  -- Nothing was done under a turn that was not used: who held before still did.
  if ARGV[6] == '1' then vacate('1') else at.holder = nil end
  at.passed = whole(math.max(tonumber(at.passed or 0), passed))
end
local rest = {}
for _, t in ipairs(line) do
  if t.id == me then
    redis.call('HDEL', key, 't:' .. me)
  elseif t.place > 0 and t.place <= passed then
    redis.call('HDEL', key, 't:' .. t.id)
    redis.call('HSET', key, 'x:' .. t.id, whole(passed) .. ' ' .. whole(t.till))
    publish(t.id, 'passed ' .. whole(passed))
  else
    rest[#rest + 1] = t
  end
end
line = rest
if marks[me] then redis.call('HDEL', key, 'x:' .. me) end

expire()
local other = at.holder and 3 or 2
local next = grant()
if next then wake(next) end
save()
return {released and 1 or other}
