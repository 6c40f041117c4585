package checkpoint

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
)

// MaxRecent is how many ids of records a checkpoint remembers.
const MaxRecent = 128

// RecentIDs are 64-bit hashes of record ids, newest last. They catch a webhook that is
// repeated after the journal's duplicate window.
type RecentIDs []uint64

func hashID(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id)) // a hash.Hash never fails
	return h.Sum64()
}

// Has reports whether id is among them. Two ids in 2^64/128 are taken for one another.
func (r RecentIDs) Has(id string) bool { return slices.Contains(r, hashID(id)) }

// With returns the ids with id as the newest and the oldest over [MaxRecent] dropped.
func (r RecentIDs) With(id string) RecentIDs {
	h := hashID(id)
	with := append(slices.DeleteFunc(slices.Clone(r), func(known uint64) bool { return known == h }), h)
	return with[max(0, len(with)-MaxRecent):]
}

// MarshalText writes eight bytes an id, in base64.
func (r RecentIDs) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 8*len(r))
	for _, h := range r {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what MarshalText wrote.
func (r *RecentIDs) UnmarshalText(text []byte) error {
	b, err := base64.RawStdEncoding.DecodeString(string(text))
	if err != nil || len(b)%8 != 0 {
		return fmt.Errorf("checkpoint: recent ids: not eight bytes an id (%v)", err)
	}
	*r = nil
	for ; len(b) > 0; b = b[8:] {
		*r = append(*r, binary.BigEndian.Uint64(b))
	}
	return nil
}
