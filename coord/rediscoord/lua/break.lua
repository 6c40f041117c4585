-- break: ends what is held under a fence as if its lease had run out, and grants the next; of a lock too.
-- KEYS  1 the key's hash
-- ARGV  1 nobody   2 channel_prefix   3 idle_ms   4 keep_ms   5 fence
-- GIVES {1} nobody holds the key under that fence
expire()
if at.holder and tonumber(at.fence) == tonumber(ARGV[5]) then
  vacate('0')
  local next = grant()
  if next then wake(next) end
  save()
end
return {1}
