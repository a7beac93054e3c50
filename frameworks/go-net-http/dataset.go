package main

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"net/http"
	"os"
	"strconv"
	"sync"
)

type rating struct {
	Score int64 `json:"score"`
	Count int64 `json:"count"`
}

type item struct {
	ID       int64    `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int64    `json:"price"`
	Quantity int64    `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   rating   `json:"rating"`
}

type listedItem struct {
	item
	Total int64 `json:"total"`
}

type listing struct {
	Items []listedItem `json:"items"`
	Count int          `json:"count"`
}

var dataset []item

func loadDataset() error {
	text, err := os.ReadFile(datasetPath)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &dataset)
}

// A document being made, with the memory of those before it.
type draft struct {
	list  listing
	text  bytes.Buffer
	coded bytes.Buffer
}

var drafts = sync.Pool{New: func() any { return new(draft) }}

// document answers with the first items, built and written for this request.
func document(w http.ResponseWriter, r *http.Request, count string) {
	if !reads(w, r) {
		return
	}
	wanted, err := strconv.ParseUint(count, 10, 31)
	if err != nil {
		fail(w, http.StatusBadRequest)
		return
	}
	m := int64(1)
	if text, there := param(r.URL.RawQuery, "m"); there {
		if m, err = strconv.ParseInt(text, 10, 64); err != nil {
			fail(w, http.StatusBadRequest)
			return
		}
	}
	made := drafts.Get().(*draft)
	defer drafts.Put(made)
	if !made.fill(int(wanted), m) {
		fail(w, http.StatusBadRequest)
		return
	}
	made.text.Reset()
	if err := json.NewEncoder(&made.text).Encode(&made.list); err != nil {
		fail(w, http.StatusInternalServerError)
		return
	}
	compressed(w, r, made)
}

func (made *draft) fill(count int, m int64) bool {
	if count > len(dataset) {
		count = len(dataset)
	}
	items := made.list.Items[:0]
	if items == nil {
		items = make([]listedItem, 0, len(dataset))
	}
	for _, one := range dataset[:count] {
		total, fits := multiply(one.Price*one.Quantity, m)
		if !fits {
			return false
		}
		items = append(items, listedItem{one, total})
	}
	made.list = listing{items, count}
	return true
}

func multiply(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	// The product of the two as signed numbers.
	high -= uint64(a>>63)&uint64(b) + uint64(b>>63)&uint64(a)
	return int64(low), int64(high) == int64(low)>>63
}
