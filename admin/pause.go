package admin

import "github.com/botmesh-go/botmesh/acts"

func pausedWord(s acts.Scope) string {
	if s == acts.Delivery {
		return "its sends are held back"
	}
	return "paused"
}
