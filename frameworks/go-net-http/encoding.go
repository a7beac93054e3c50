package main

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Below this a coded document is hardly smaller than its own headers.
const worthCoding = 256

var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed answers with the document, as gzip where the client takes that:
// the only content coding of the contract in the standard library.
func compressed(w http.ResponseWriter, r *http.Request, made *draft) {
	accepts := r.Header["Accept-Encoding"]
	if len(accepts) == 0 {
		answer(w, "application/json", made.text.Bytes())
		return
	}
	w.Header()["Vary"] = []string{"Accept-Encoding"}
	if made.text.Len() < worthCoding || choose(accepts, []string{"gzip"}) == "" {
		answer(w, "application/json", made.text.Bytes())
		return
	}
	made.coded.Reset()
	writer := writers.Get().(*gzip.Writer)
	writer.Reset(&made.coded)
	_, _ = writer.Write(made.text.Bytes())
	_ = writer.Close()
	writers.Put(writer)
	w.Header()["Content-Encoding"] = []string{"gzip"}
	answer(w, "application/json", made.coded.Bytes())
}

// choose gives the best coding of those offered that Accept-Encoding allows;
// of equal weights the first offered wins.
func choose(accepts []string, offered []string) string {
	best, most := "", 0.0
	for _, name := range offered {
		if q := weight(accepts, name); q > most {
			best, most = name, q
		}
	}
	return best
}

func weight(accepts []string, wanted string) float64 {
	others := 0.0
	for _, line := range accepts {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ",")
			name, settings, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name == wanted || wanted == "gzip" && name == "x-gzip" {
				return quality(settings)
			}
			if name == "*" {
				others = quality(settings)
			}
		}
	}
	return others
}

func quality(settings string) float64 {
	for settings != "" {
		var setting string
		setting, settings, _ = strings.Cut(settings, ";")
		key, value, _ := strings.Cut(setting, "=")
		if !strings.EqualFold(strings.TrimSpace(key), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return 0
		}
		return q
	}
	return 1
}
