-- view: shows what is known of a key; of a lock too, whose fields have the same names.
-- KEYS  1 the key's hash
-- ARGV  1 nobody   2 channel_prefix   3 idle_ms   4 keep_ms
-- GIVES {0} nothing is known | {1, fence, holder, left_ms, age_ms, before, clean, passed, deaths, ticket, place, ...}
if not at.fence then return {0} end
expire()
local left, age = 0, 0
if at.holder then left, age = at['until'] - now, now - tonumber(at.since or now) end
local view = {1, tonumber(at.fence), at.holder or '', left, age, at.before or '', tonumber(at.clean or 0),
  tonumber(at.passed or 0), tonumber(at.deaths or 0)}
for _, t in ipairs(line) do
  view[#view + 1] = t.id
  view[#view + 1] = t.place
end
return view
