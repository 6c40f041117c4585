package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

// Intake is a platform that tells how it delivers.
type Intake struct {
	// ID is the provider's instance id.
	ID string
	// Polls says that an ingress asks it for what users write, rather than that it posts.
	Polls bool
	// Checker is who asks.
	Checker provider.Checker
}

// intakes asks the platforms whether what users write reaches an ingress: one that is not
// there, or is not what the webhook leads to, knows nothing of it itself.
func intakes(ctx context.Context, cfg Config) (found []Finding) {
	const is = about("platforms")
	for _, i := range cfg.Intakes {
		in, err := i.Checker.Check(ctx)
		if err != nil {
			found = append(found, Finding{Unknown, string(is), fmt.Sprintf("%s can not be asked: %v", i.ID, err), ""})
			continue
		}
		found = append(found, i.judge(in))
	}
	return found
}

// judge says what a platform's word means. What it failed with long ago stays in it until
// the next failure: it counts while something waits.
func (i Intake) judge(in provider.Intake) Finding {
	const is = about("platforms")
	switch {
	case i.Polls && in.Webhook:
		return is.broken("remove the webhook with deleteWebhook, or set the mode to webhook", "%s posts to a webhook, so it can not be asked for messages; %d wait there", i.ID, in.Waiting)
	case !i.Polls && !in.Webhook:
		return is.broken("call setWebhook with the address of the ingress and its secret", "%s has no webhook set: nothing comes; %d wait there", i.ID, in.Waiting)
	case in.Waiting > 0 && in.Failed != "":
		return is.broken("is an ingress ready, and does the address lead to it? its log says what it refused", "%s could not post to the webhook at %s: %q; %d wait there",
			i.ID, in.FailedAt.UTC().Format(time.RFC3339), in.Failed, in.Waiting)
	}
	return is.fine("%s delivers; %d wait there", i.ID, in.Waiting)
}
