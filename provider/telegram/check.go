package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/botmesh-go/botmesh/provider"
)

var _ provider.Checker = (*Sender)(nil)

// Check implements [provider.Checker] by getWebhookInfo. Of the webhook's address it tells
// nothing but that there is one.
func (s *Sender) Check(ctx context.Context) (provider.Intake, error) {
	got, err := s.api.call(ctx, "getWebhookInfo", struct{}{})
	if err != nil {
		return provider.Intake{}, err
	}
	if !got.OK {
		return provider.Intake{}, fmt.Errorf("telegram: getWebhookInfo: %d %s", got.Code, got.Description)
	}
	var info struct {
		URL     string `json:"url"`
		Pending int    `json:"pending_update_count"`
		At      int64  `json:"last_error_date"`
		Failed  string `json:"last_error_message"`
	}
	if err := json.Unmarshal(got.Result, &info); err != nil {
		return provider.Intake{}, fmt.Errorf("telegram: getWebhookInfo: %w", err)
	}
	in := provider.Intake{Webhook: info.URL != "", Waiting: info.Pending}
	if info.At != 0 {
		in.FailedAt = time.Unix(info.At, 0)
		if in.Failed = info.Failed; info.URL != "" {
			in.Failed = strings.ReplaceAll(in.Failed, info.URL, "the webhook")
		}
	}
	return in, nil
}
