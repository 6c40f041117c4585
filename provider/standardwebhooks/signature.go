package standardwebhooks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a webhook.
const (
	IDHeader        = "Webhook-Id"
	TimestampHeader = "Webhook-Timestamp"
	SignatureHeader = "Webhook-Signature"
)

const (
	secretMark, publicMark = "whsec_", "whpk_"
	// minSecret and maxSecret bound a secret, in bytes.
	minSecret, maxSecret = 24, 64
	// maxSignatures bounds those of one webhook that are looked at.
	maxSignatures = 16
)

// keys are those of one secret setting: several parted by spaces, so that one can
// take the place of another.
type keys struct {
	secrets [][]byte
	publics []ed25519.PublicKey
}

// parseKeys reads "whsec_<base64>" and "whpk_<base64>". Its error shows no key.
func parseKeys(text string) (keys, error) {
	var k keys
	for i, word := range strings.Fields(text) {
		if encoded, ok := strings.CutPrefix(word, publicMark); ok {
			raw, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil || len(raw) != ed25519.PublicKeySize {
				return keys{}, fmt.Errorf("standardwebhooks: key %d is not whpk_ and the base64 of an Ed25519 key", i+1)
			}
			k.publics = append(k.publics, raw)
			continue
		}
		encoded, ok := strings.CutPrefix(word, secretMark)
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(raw) < minSecret || len(raw) > maxSecret {
			return keys{}, fmt.Errorf("standardwebhooks: secret %d is not whsec_ and the base64 of %d to %d bytes", i+1, minSecret, maxSecret)
		}
		k.secrets = append(k.secrets, raw)
	}
	if len(k.secrets)+len(k.publics) == 0 {
		return keys{}, errors.New("standardwebhooks: no secret")
	}
	return k, nil
}

// signed is what a signature is over.
func signed(id, stamp string, body []byte) []byte {
	return append([]byte(id+"."+stamp+"."), body...)
}

// sign is the value of the signature header.
func sign(secret []byte, id, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(signed(id, stamp, body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Sign is the header that goes with a body: its id and its time, signed with the
// first of the secrets. It is what a backend does for what it posts.
func Sign(secrets, id string, at time.Time, body []byte) (http.Header, error) {
	k, err := parseKeys(secrets)
	if err != nil {
		return nil, err
	}
	if len(k.secrets) == 0 {
		return nil, errors.New("standardwebhooks: a public key signs nothing")
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	return http.Header{IDHeader: {id}, TimestampHeader: {stamp}, SignatureHeader: {sign(k.secrets[0], id, stamp, body)}}, nil
}

// verify reports whether one of the signatures is by one of the keys.
func (k keys) verify(h http.Header, body []byte) bool {
	id, stamp := h.Get(IDHeader), h.Get(TimestampHeader)
	if id == "" || stamp == "" {
		return false
	}
	signatures := strings.Fields(h.Get(SignatureHeader))
	good := false
	for _, secret := range k.secrets {
		want := []byte(sign(secret, id, stamp, body))
		for _, got := range signatures[:min(len(signatures), maxSignatures)] {
			good = subtle.ConstantTimeCompare([]byte(got), want) == 1 || good
		}
	}
	for _, public := range k.publics {
		for _, got := range signatures[:min(len(signatures), maxSignatures)] {
			encoded, ok := strings.CutPrefix(got, "v1a,")
			raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
			good = ok && err == nil && ed25519.Verify(public, signed(id, stamp, body), raw) || good
		}
	}
	return good
}
