package main

import (
	"io"
	"net/http"
	"strconv"
	"sync"
)

// The contract's headroom for uploads.
const largestUpload = 25 << 20

var pieces = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// upload answers with the number of bytes of the body, keeping none.
func upload(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		fail(w, http.StatusMethodNotAllowed)
		return
	}
	if r.ContentLength > largestUpload {
		w.Header().Set("Connection", "close")
		fail(w, http.StatusRequestEntityTooLarge)
		return
	}
	body := http.MaxBytesReader(w, r.Body, largestUpload)
	piece := pieces.Get().(*[64 << 10]byte)
	defer pieces.Put(piece)
	var seen int64
	for {
		n, err := body.Read(piece[:])
		seen += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			refuse(w, err)
			return
		}
	}
	var text [24]byte
	answer(w, "text/plain", strconv.AppendInt(text[:0], seen, 10))
}
