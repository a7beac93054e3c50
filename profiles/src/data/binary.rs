//! Fonts and pictures: an honest header, then noise. None of them decodes.

use super::stream::Stream;

/// A WOFF2 header that promises `bytes`, then random bytes.
pub(crate) fn woff2(stream: &mut Stream, bytes: usize) -> Vec<u8> {
    let noise = bytes as u32 - 48;
    let mut out = Vec::with_capacity(bytes);
    out.extend(b"wOF2");
    out.extend([0, 1, 0, 0]); // TrueType outlines
    out.extend((bytes as u32).to_be_bytes());
    out.extend(12u16.to_be_bytes()); // tables
    out.extend([0, 0]);
    out.extend((noise * 2).to_be_bytes()); // size once decoded
    out.extend(noise.to_be_bytes());
    out.extend([0, 1, 0, 0]); // version 1.0
    out.extend([0; 20]); // no metadata, no private data
    out.extend(stream.bytes(bytes - out.len()));
    out
}

/// A lossy WebP header that promises `bytes`, then random bytes.
pub(crate) fn webp(stream: &mut Stream, bytes: usize) -> Vec<u8> {
    let (width, height) = (stream.range(64, 1600), stream.range(64, 1200));
    let mut out = Vec::with_capacity(bytes);
    out.extend(b"RIFF");
    out.extend((bytes as u32 - 8).to_le_bytes());
    out.extend(b"WEBPVP8 ");
    out.extend((bytes as u32 - 20).to_le_bytes());
    out.extend([0x50, 0x02, 0x00]); // frame tag: a shown key frame
    out.extend([0x9d, 0x01, 0x2a]); // start code
    out.extend((width as u16).to_le_bytes());
    out.extend((height as u16).to_le_bytes());
    out.extend(stream.bytes(bytes - out.len()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_promise_the_size_the_file_has() {
        let mut stream = Stream::named("test");
        let font = woff2(&mut stream, 18_432);
        assert_eq!(font.len(), 18_432);
        assert_eq!(font[8..12], 18_432u32.to_be_bytes());
        let picture = webp(&mut stream, 6_144);
        assert_eq!(picture.len(), 6_144);
        assert_eq!(picture[4..8], 6_136u32.to_le_bytes());
    }
}
