package main

import (
	"net/url"
	"strings"
)

// param gives the first value of a parameter, decoded. Only what is asked for
// is cut out: a map of all parameters costs more than the sum itself.
func param(query, name string) (string, bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if key != name {
			continue
		}
		if strings.Contains(value, "%") {
			if text, err := url.QueryUnescape(value); err == nil {
				value = text
			}
		}
		return value, true
	}
	return "", false
}
