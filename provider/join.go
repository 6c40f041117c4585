package provider

import (
	"cmp"
	"slices"

	"github.com/botmesh-go/botmesh"
)

// join is the spans with those of one style, and of links to one address, as one where they
// touch or overlap. So few cover one character, however many there are.
func join(spans []botmesh.Span) []botmesh.Span {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := spans[i], spans[j]
		return cmp.Or(cmp.Compare(a.Style, b.Style), cmp.Compare(a.URL, b.URL), cmp.Compare(a.From, b.From))
	})
	// all has each span at the place of the first that is in it.
	all := slices.Clone(spans)
	last := -1
	for _, i := range order {
		s := all[i]
		if last < 0 || s.Style != all[last].Style || s.URL != all[last].URL || s.From > all[last].To {
			last = i
			continue
		}
		joined := s
		joined.From, joined.To = all[last].From, max(all[last].To, s.To)
		all[last], all[i] = botmesh.Span{}, botmesh.Span{}
		last = min(last, i)
		all[last] = joined
	}
	return slices.DeleteFunc(all, empty)
}

// apart is the spans with no character in two links: it is in the later one, which is the inner
// one of those that package markdown makes, as in [Runs].
func apart(spans []botmesh.Span) (all []botmesh.Span) {
	var taken []botmesh.Span // by links, in order
	for _, s := range slices.Backward(spans) {
		if s.Style != botmesh.StyleLink {
			all = append(all, s)
			continue
		}
		var free []botmesh.Span
		for _, t := range taken {
			if before := (botmesh.Span{From: s.From, To: min(s.To, t.From), Style: s.Style, URL: s.URL}); !empty(before) {
				free = append(free, before)
			}
			s.From = max(s.From, t.To)
		}
		if !empty(s) {
			free = append(free, s)
		}
		slices.Reverse(free)
		all = append(all, free...)
		taken = append(taken, free...)
		slices.SortFunc(taken, func(a, b botmesh.Span) int { return cmp.Compare(a.From, b.From) })
	}
	slices.Reverse(all)
	return all
}

func empty(s botmesh.Span) bool { return s.From >= s.To }
