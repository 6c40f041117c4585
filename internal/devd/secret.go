package devd

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"

	"github.com/botmesh-go/botmesh/internal/config"
)

// minSecret is the shortest secret that is kept, in bytes: the least that the web chat takes.
const minSecret = 16

// keptSecret reads the secret in a file, or makes one there, so that whoever has it is
// known when the program starts again. What is too short for a secret, as an empty file, is
// made anew. A crash leaves the old file or the new one, never half of one.
func keptSecret(path string) (config.Secret, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return config.Secret{}, err
	}
	if text = bytes.TrimSpace(text); len(text) >= minSecret {
		return config.NewSecret(string(text)), nil
	}
	text = []byte(rand.Text())
	if err := replace(path, text); err != nil {
		return config.Secret{}, err
	}
	return config.NewSecret(string(text)), nil
}

// replace writes a file that only its owner reads. Only one process does, see [lock].
func replace(path string, text []byte) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
