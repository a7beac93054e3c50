package main

import (
	"crypto/tls"
	"os"
)

// What the environment says, with the contract's defaults.
var (
	datasetPath = env("DATASET_PATH", "/data/dataset.json")
	staticDir   = env("STATIC_DIR", "/data/static")
	httpPort    = env("ARENA_HTTP_PORT", "8080")
	tlsPort     = env("ARENA_TLS_PORT", "8081")
	h2Port      = env("ARENA_H2_PORT", "8443")
)

func env(name, byDefault string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return byDefault
}

// certificate is nil where there is none.
func certificate() *tls.Certificate {
	pair, err := tls.LoadX509KeyPair(
		env("TLS_CERT", "/certs/server.crt"),
		env("TLS_KEY", "/certs/server.key"),
	)
	if err != nil {
		return nil
	}
	return &pair
}
