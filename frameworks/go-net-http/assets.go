package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

var types = map[string]string{
	".css":   "text/css",
	".js":    "application/javascript",
	".html":  "text/html",
	".woff2": "font/woff2",
	".svg":   "image/svg+xml",
	".webp":  "image/webp",
	".json":  "application/json",
}

// A file with what lies coded beside it.
type asset struct {
	kind    string
	offered []string
	bodies  map[string][]byte
}

var assets = map[string]*asset{}

// loadAssets reads all files once: type engine may keep them in memory.
func loadAssets() {
	found, _ := os.ReadDir(staticDir)
	for _, file := range found {
		name := file.Name()
		kind, known := types[filepath.Ext(name)]
		body, err := os.ReadFile(filepath.Join(staticDir, name))
		if !known || err != nil {
			continue
		}
		one := &asset{kind: kind, bodies: map[string][]byte{"": body}}
		for _, sibling := range [...][2]string{{"br", ".br"}, {"gzip", ".gz"}} {
			coded, err := os.ReadFile(filepath.Join(staticDir, name+sibling[1]))
			if err == nil {
				one.bodies[sibling[0]] = coded
				one.offered = append(one.offered, sibling[0])
			}
		}
		assets[name] = one
	}
}

func static(w http.ResponseWriter, r *http.Request) {
	if !reads(w, r) {
		return
	}
	one := assets[strings.TrimPrefix(r.URL.Path, "/static/")]
	if one == nil {
		fail(w, http.StatusNotFound)
		return
	}
	coding := choose(r.Header["Accept-Encoding"], one.offered)
	if coding != "" {
		w.Header()["Content-Encoding"] = []string{coding}
	}
	if len(one.offered) > 0 {
		w.Header()["Vary"] = []string{"Accept-Encoding"}
	}
	answer(w, one.kind, one.bodies[coding])
}
