// An HTTP server of Go's standard library and nothing else.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// Few bytes live and many die: collecting less often is free.
		debug.SetGCPercent(400)
	}
	if err := loadDataset(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	loadAssets()

	plain := listen(httpPort)
	serve(server(), batching{plain})
	if pair := certificate(); pair != nil {
		h1 := server()
		// An empty map is how net/http is told to leave HTTP/2 alone.
		h1.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		h1.TLSConfig = settings(pair)
		serveTLS(h1, listen(tlsPort))
		h2 := server()
		h2.TLSConfig = settings(pair)
		serveTLS(h2, listen(h2Port))
	}
	fmt.Printf("listening on http://%s\n", plain.Addr())

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}

func server() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(route),
		ReadHeaderTimeout: 60 * time.Second,
		IdleTimeout:       75 * time.Second,
		// What a client sends wrong is its own affair.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// settings leaves out what Go still offers for old clients: TLS 1.0, 3DES and
// RSA without forward secrecy.
func settings(pair *tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{*pair},
		MinVersion:   tls.VersionTLS12,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
}

func listen(port string) net.Listener {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return listener
}

func serve(s *http.Server, on net.Listener) {
	go func() { ended(s.Serve(on)) }()
}

func serveTLS(s *http.Server, on net.Listener) {
	go func() { ended(s.ServeTLS(on, "", "")) }()
}

func ended(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
