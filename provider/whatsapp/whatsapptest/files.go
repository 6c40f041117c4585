package whatsapptest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
)

// files are what users sent.
type files struct {
	mu     sync.Mutex
	kept   map[string][]byte // by the media id
	places map[string]string // media ids by what addresses end in
}

// AddFile keeps a file that a user sent, under its media id; nil forgets it.
func (s *Server) AddFile(id string, content []byte) {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	if s.files.kept == nil {
		s.files.kept, s.files.places = map[string][]byte{}, map[string]string{}
	}
	if s.files.kept[id] = content; content == nil {
		delete(s.files.kept, id)
	}
}

// ExpireFiles has no address be good that was told before.
func (s *Server) ExpireFiles() {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	clear(s.files.places)
}

// locate tells the address of a file, which is another each time.
func (s *Server) locate(w http.ResponseWriter, r *http.Request) {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	id := r.PathValue("id")
	content, ok := s.files.kept[id]
	if !ok {
		Error(http.StatusBadRequest, 100, "Unsupported get request. Object with ID '"+id+"' does not exist").Answer(w)
		return
	}
	place := rand.Text()
	s.files.places[place] = id
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"messaging_product": "whatsapp", "id": id, "url": "http://" + r.Host + "/attachments/" + place,
		"mime_type": "image/jpeg", "file_size": len(content), "sha256": "0",
	})
}

// attachment gives the file at an address.
func (s *Server) attachment(w http.ResponseWriter, r *http.Request) {
	s.files.mu.Lock()
	content, ok := s.files.kept[s.files.places[r.PathValue("place")]]
	s.files.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	w.Write(content)
}
