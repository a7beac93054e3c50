//! The compressed siblings. Both encoders are chosen for giving the same
//! bytes on every machine, whatever else is built beside them.

use brotli::enc::BrotliEncoderParams;

/// A gzip file at level 9, without name and time.
pub(crate) fn gzip(raw: &[u8]) -> Vec<u8> {
    // Magic, deflate, no flags, no time, best compression, unknown system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    out.extend(miniz_oxide::deflate::compress_to_vec(raw, 9));
    out.extend(crc32fast::hash(raw).to_le_bytes());
    out.extend((raw.len() as u32).to_le_bytes());
    out
}

/// A brotli stream at quality 11.
pub(crate) fn brotli(mut raw: &[u8]) -> Vec<u8> {
    let params = BrotliEncoderParams {
        quality: 11,
        size_hint: raw.len(),
        ..BrotliEncoderParams::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut raw, &mut out, &params)
        .expect("reading a slice and writing a vector never fails");
    out
}
