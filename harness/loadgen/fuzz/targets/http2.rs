//! HTTP/2 frames and header blocks, with answers of HTTP and of gRPC.
#![no_main]

#[path = "../../tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|script: &[u8]| {
    fuzzed::check_http2(script);
});
