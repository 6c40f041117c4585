// Package identity names replicas and their incarnations.
//
// It is shared by the coordinators, so that a name means the same in each of them.
package identity

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"
)

// maxReplica is the longest replica id in bytes: that of a host name.
const maxReplica = 253

// Replica returns the replica's id: what was given, or a random UUID if nothing
// was. It fails if the id is not 1 to 253 letters, digits and "._:-".
func Replica(given string) (string, error) {
	if given == "" {
		return uuid.NewString(), nil
	}
	if len(given) > maxReplica {
		return "", fmt.Errorf("replica id of %d bytes: want at most %d", len(given), maxReplica)
	}
	for i := range len(given) {
		if !allowed(given[i]) {
			return "", fmt.Errorf("replica id %q: want letters, digits and ._:-", given)
		}
	}
	return given, nil
}

func allowed(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == ':' || c == '-'
}

// Incarnation returns a name that no other process and no later start of the
// replica has: the replica's id, a slash and 64 random bits.
func Incarnation(replica string) string {
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails
	return replica + "/" + hex.EncodeToString(nonce[:])
}
