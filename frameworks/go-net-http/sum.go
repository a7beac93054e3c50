package main

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"net/http"
	"strconv"
)

// A number with any white space around it is far below this.
const largestNumber = 64 << 10

// sum answers with a + b, and for POST with the body's number added.
func sum(w http.ResponseWriter, r *http.Request, mayPost bool) {
	var terms [3]int64
	for i, name := range [...]string{"a", "b"} {
		text, _ := param(r.URL.RawQuery, name)
		term, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			fail(w, http.StatusBadRequest)
			return
		}
		terms[i] = term
	}
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
	case r.Method == http.MethodPost && mayPost:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestNumber))
		if err != nil {
			refuse(w, err)
			return
		}
		text := string(bytes.TrimSpace(body))
		if terms[2], err = strconv.ParseInt(text, 10, 64); err != nil {
			fail(w, http.StatusBadRequest)
			return
		}
	default:
		fail(w, http.StatusMethodNotAllowed)
		return
	}
	total, fits := add(terms)
	if !fits {
		fail(w, http.StatusBadRequest)
		return
	}
	var text [24]byte
	answer(w, "text/plain", strconv.AppendInt(text[:0], total, 10))
}

// add sums in 128 bits, so that only the result has to fit 64.
func add(terms [3]int64) (int64, bool) {
	var low, high uint64
	for _, term := range terms {
		var carry uint64
		low, carry = bits.Add64(low, uint64(term), 0)
		high, _ = bits.Add64(high, uint64(term>>63), carry)
	}
	return int64(low), int64(high) == int64(low)>>63
}

// refuse answers a body that is too large; one that broke off gets no answer
// that could be taken for success.
func refuse(w http.ResponseWriter, err error) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		fail(w, http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Connection", "close")
	fail(w, http.StatusBadRequest)
}
