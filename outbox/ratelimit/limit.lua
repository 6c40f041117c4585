-- Takes a token of each bucket, or of none; or takes down that nothing is to go
-- for a while. All times are microseconds of the server's clock.
--
-- KEYS  what is known of all calls, of the account, of the chat
-- ARGV  "take", 1 if the call was put off before,
--           then for all calls, the account and the chat: microseconds a token, burst
--       "stop", the pause, 1 if it is the account's, the chat, life of the chat's key
--
-- A bucket is a hash: tat, when it will be full again; new and back, when the last
-- of each line is to come; stop, when the platform wants to be called again. A chat
-- that nobody knows had one token when Redis began to count.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function get(key, field) return tonumber(redis.call('HGET', key, field) or 0) end
local function put(key, field, n) redis.call('HSET', key, field, string.format('%.0f', n)) end

local since = get(KEYS[1], 'since')
if since == 0 or since > now then
  since = now
  put(KEYS[1], 'since', since)
end

if ARGV[1] == 'stop' then
  local till, chat = now + ARGV[2], ARGV[4]
  local hurt = redis.call('HGET', KEYS[2], 'hurt')
  if ARGV[3] == '1' or (hurt and hurt ~= chat and get(KEYS[2], 'hurt_until') > now) then
    put(KEYS[2], 'stop', math.max(till, get(KEYS[2], 'stop')))
  end
  redis.call('HSET', KEYS[2], 'hurt', chat)
  put(KEYS[2], 'hurt_until', till)
  put(KEYS[3], 'stop', till)
  if redis.call('HEXISTS', KEYS[3], 'tat') == 0 then
    put(KEYS[3], 'tat', now)
  end
  redis.call('PEXPIRE', KEYS[3], ARGV[5])
  return 0
end

local back = ARGV[2] == '1'
local buckets, pause, free = {}, 0, true
for i, key in ipairs(KEYS) do
  local b = { key = key, every = tonumber(ARGV[2 * i + 1]), burst = tonumber(ARGV[2 * i + 2]) }
  local full = b.every * b.burst
  b.tat = get(key, 'tat')
  if b.tat == 0 then
    b.tat = since + full - b.every -- one token was there
  end
  b.tat = math.max(math.min(b.tat, now + full), now)
  b.wait = math.max(b.tat + b.every - full - now, get(key, 'stop') - now, 0)
  b.free = b.wait == 0
  if i < 3 and not back and math.max(get(key, 'new'), get(key, 'back')) > now then
    b.free = false -- others were told to come now or soon
  end
  free = free and b.free
  buckets[i] = b
end

for i, b in ipairs(buckets) do
  if free then
    if b.every > 0 then
      put(b.key, 'tat', b.tat + b.every)
      if i == 3 then
        redis.call('PEXPIRE', b.key, math.ceil((b.tat + b.every - now) / 1000) + 1000)
      end
    end
  elseif i == 3 then
    pause = math.max(pause, b.wait)
  elseif not b.free then
    local line = back and 'back' or 'new'
    local turn = math.max(now + b.wait, get(b.key, line) + b.every)
    put(b.key, line, turn)
    pause = math.max(pause, turn - now)
  end
end
if free then
  return 0
end
return math.max(pause, 1000)
