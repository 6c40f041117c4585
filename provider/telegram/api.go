package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/botmesh-go/botmesh"
	"github.com/botmesh-go/botmesh/provider"
	"github.com/botmesh-go/botmesh/provider/httpcall"
)

// DefaultAPI is the address of the Bot API.
const DefaultAPI = "https://api.telegram.org"

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9:_-]{1,256}$`)

// api calls the Bot API.
type api struct {
	base   string // of all methods, token included
	files  string // of all files, token included
	client *httpcall.Client
}

// newAPI names everything that is wrong with its arguments, without the token. An
// empty address is [DefaultAPI].
func newAPI(id, token, address string, cfg httpcall.Config) (api, error) {
	if address == "" {
		address = DefaultAPI
	}
	var errs []error
	if !botmesh.ValidName(id) {
		errs = append(errs, fmt.Errorf("telegram: id %q does not match [a-z0-9-]{1,32}", id))
	}
	if !tokenForm.MatchString(token) {
		errs = append(errs, errors.New("telegram: the token is missing or has not the form of one"))
	}
	if err := httpcall.CheckBase(address); err != nil {
		errs = append(errs, fmt.Errorf("telegram: %w", err))
	}
	cfg.Secret = token
	address = strings.TrimRight(address, "/")
	return api{address + "/bot" + token + "/", address + "/file/bot" + token + "/", httpcall.New(cfg)}, errors.Join(errs...)
}

// call makes one call. Its error says, as that of [provider.Sender], whether it was
// taken.
func (a api) call(ctx context.Context, method string, in any) (answer, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return answer{}, provider.Permanent(fmt.Errorf("telegram: %w", err))
	}
	got, err := a.client.Post(ctx, a.base+method, nil, body)
	if err != nil {
		return answer{}, fmt.Errorf("telegram: calling %s: %w", method, err)
	}
	return readAnswer(got), nil
}
