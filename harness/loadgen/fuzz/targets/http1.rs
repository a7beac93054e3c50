//! HTTP/1.1 answers.
#![no_main]

#[path = "../../tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|script: &[u8]| {
    fuzzed::check::<fuzzed::H1>(script);
});
