package main

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// route finds the handler by hand. http.ServeMux would redirect a path with
// `..` in it, and has nothing for a count in a path.
func route(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 && r.Body != http.NoBody {
		// Only its end shows whether a body has the length it was said to have.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			fail(w, http.StatusBadRequest)
			return
		}
	}
	path := r.URL.Path
	switch {
	case path == "/baseline11":
		sum(w, r, true)
	case path == "/baseline2":
		sum(w, r, false)
	case path == "/pipeline":
		if reads(w, r) {
			answer(w, "text/plain", []byte("ok"))
		}
	case path == "/upload":
		upload(w, r)
	case strings.HasPrefix(path, "/json/"):
		document(w, r, path[len("/json/"):])
	case strings.HasPrefix(path, "/static/"):
		static(w, r)
	default:
		fail(w, http.StatusNotFound)
	}
}

// reads answers other methods than GET and HEAD.
func reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	fail(w, http.StatusMethodNotAllowed)
	return false
}

func answer(w http.ResponseWriter, kind string, body []byte) {
	head := w.Header()
	head["Content-Type"] = []string{kind}
	head["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body)
}

func fail(w http.ResponseWriter, status int) {
	http.Error(w, http.StatusText(status), status)
}
