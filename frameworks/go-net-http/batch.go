package main

import (
	"net"
	"sync"
)

// More than this is written at once.
const fullBatch = 64 << 10

// batching hands out connections that write when they are about to read.
type batching struct{ net.Listener }

func (l batching) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &batch{Conn: conn}, nil
}

// A batch holds answers back while net/http still has requests of the same
// read. net/http flushes after each answer, which is a system call for each of
// sixteen pipelined ones; but it reads from the connection only when it has no
// more input, so that is the moment to write.
type batch struct {
	net.Conn
	mutex sync.Mutex
	held  []byte
}

func (b *batch) Read(into []byte) (int, error) {
	if err := b.flush(); err != nil {
		return 0, err
	}
	return b.Conn.Read(into)
}

// The reader in the background of net/http runs beside the handler, so the
// held bytes have a lock.
func (b *batch) Write(from []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.held)+len(from) > fullBatch {
		if err := b.write(); err != nil {
			return 0, err
		}
		return b.Conn.Write(from)
	}
	b.held = append(b.held, from...)
	return len(from), nil
}

func (b *batch) Close() error {
	_ = b.flush()
	return b.Conn.Close()
}

// CloseWrite is what net/http calls before it closes, so that the client
// reads the answer first.
func (b *batch) CloseWrite() error {
	_ = b.flush()
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (b *batch) flush() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.write()
}

func (b *batch) write() error {
	if len(b.held) == 0 {
		return nil
	}
	_, err := b.Conn.Write(b.held)
	b.held = b.held[:0]
	return err
}
