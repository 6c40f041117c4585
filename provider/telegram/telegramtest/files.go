package telegramtest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// maxFile is the largest file that bots are given, in bytes.
const maxFile = 20 << 20

// AddFile keeps a file that a user sent, under its file_id; nil forgets it.
func (s *Server) AddFile(id string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[id] = content; content == nil {
		delete(s.files, id)
	}
}

func (s *Server) file(id string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.files[id]
	return content, ok
}

// getFile tells where a file is.
func (s *Server) getFile(w http.ResponseWriter, body []byte) {
	var q struct {
		ID string `json:"file_id"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		badRequest("can't parse the request").Answer(w)
		return
	}
	content, ok := s.file(q.ID)
	switch {
	case !ok:
		badRequest("invalid file_id").Answer(w)
	case len(content) > maxFile:
		badRequest("file is too big").Answer(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": map[string]any{
			"file_id": q.ID, "file_unique_id": "u" + q.ID, "file_size": len(content), "file_path": "documents/" + q.ID + ".bin",
		}})
	}
}

// serveFile gives the file at a path that getFile told.
func (s *Server) serveFile(w http.ResponseWriter, path string) {
	id, _ := strings.CutPrefix(path, "documents/")
	content, ok := s.file(strings.TrimSuffix(id, ".bin"))
	if !ok {
		Refusal(http.StatusNotFound, "").Answer(w)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(content)
}
