package slacktest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// files are what users sent, by their ids.
type files struct {
	mu   sync.Mutex
	kept map[string][]byte
}

// AddFile keeps a file that a user sent, under its id; nil forgets it.
func (s *Server) AddFile(id string, content []byte) {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if s.files.kept == nil {
		s.files.kept = map[string][]byte{}
	}
	if s.files.kept[id] = content; content == nil {
		delete(s.files.kept, id)
	}
}

func (s *Server) file(id string) ([]byte, bool) {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	content, ok := s.files.kept[id]
	return content, ok
}

// filesInfo is files.info.
func (s *Server) filesInfo(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("file")
	content, ok := s.file(id)
	if !ok {
		Error("file_not_found").Answer(w)
		return
	}
	at := "http://" + r.Host + filesPath + id
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"ok": true, "file": map[string]any{
		"id": id, "name": "shot.png", "mimetype": "image/png", "size": len(content), "mode": "hosted", "url_private": at, "url_private_download": at,
	}})
}

// filesPath is where the files are.
const filesPath = "/files-pri/"

// serveFile gives a file to who has the token, as the server has checked.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	content, ok := s.file(strings.TrimPrefix(r.URL.Path, filesPath))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Write(content)
}
