//! The Huffman code of HPACK (RFC 7541 appendix B), which QPACK shares.
//!
//! The code is canonical: codes of one length follow each other in the order
//! of their symbols, and shorter ones come first. So the lengths say it all,
//! and the tables are worked out from them when this is compiled.

/// A text that is no Huffman coding of anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a Huffman coded text is malformed")]
pub struct Malformed;

/// The end of a text. It must not be coded, only its first bits may pad.
const EOS: usize = 256;
/// The length of each symbol's code in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const LONGEST: usize = 30;
/// Codes of at most so many bits are found by one look.
const FAST: usize = 10;

struct Code {
    /// By the next [`FAST`] bits: the symbol and its code's length, which is
    /// 0 where the code is longer.
    fast: [(u8, u8); 1 << FAST],
    /// By length: the codes that follow those of this length, from bit 31
    /// down.
    end: [u64; LONGEST + 1],
    /// By length: what to take off such a code to get the index of its
    /// symbol.
    base: [i64; LONGEST + 1],
    symbols: [u16; 257],
}

static CODE: Code = code();

const fn code() -> Code {
    let mut code = Code {
        fast: [(0, 0); 1 << FAST],
        end: [0; LONGEST + 1],
        base: [0; LONGEST + 1],
        symbols: [0; 257],
    };
    let (mut next, mut index, mut length) = (0u64, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        code.base[length] = next as i64 - index as i64;
        let mut symbol = 0;
        while symbol <= EOS {
            if LENGTHS[symbol] as usize == length {
                code.symbols[index] = symbol as u16;
                if length <= FAST {
                    let mut at = (next as usize) << (FAST - length);
                    while at < (next as usize + 1) << (FAST - length) {
                        code.fast[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                index += 1;
                next += 1;
            }
            symbol += 1;
        }
        code.end[length] = next << (32 - length);
        length += 1;
    }
    code
}

/// Appends what `coded` says to `out`.
pub fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    // No code is shorter than five bits.
    out.reserve(coded.len() * 8 / 5);
    let mut input = coded.iter();
    // The bits to read, from the top.
    let (mut bits, mut count) = (0u64, 0);
    loop {
        while count <= 56
            && let Some(byte) = input.next()
        {
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        let (symbol, length) = CODE.fast[(bits >> (64 - FAST)) as usize];
        let (symbol, length) = match length {
            0 => long((bits >> 32) as u32),
            _ => (usize::from(symbol), u32::from(length)),
        };
        if length > count {
            // Less than a byte is left: it must be the beginning of EOS.
            let padding = !(u64::MAX >> count);
            return if count < 8 && bits == padding {
                Ok(())
            } else {
                Err(Malformed)
            };
        }
        if symbol == EOS {
            return Err(Malformed);
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// The symbol whose code begins `bits`, and the code's length.
#[cold]
fn long(bits: u32) -> (usize, u32) {
    let mut length = FAST + 1;
    while u64::from(bits) >= CODE.end[length] {
        length += 1;
    }
    let code = i64::from(bits >> (32 - length));
    let index = (code - CODE.base[length]) as usize;
    (usize::from(CODE.symbols[index]), length as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit and from the lengths alone.
    fn encode(text: &[u8]) -> Vec<u8> {
        let (mut bits, mut out) = (String::new(), Vec::new());
        for byte in text {
            let symbol = u16::from(*byte);
            let index = CODE.symbols.iter().position(|s| *s == symbol);
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            let code = index.unwrap() as i64 + CODE.base[length];
            bits.push_str(&format!("{code:0length$b}"));
        }
        while bits.len() % 8 != 0 {
            bits.push('1');
        }
        for byte in bits.as_bytes().chunks(8) {
            let byte = std::str::from_utf8(byte).unwrap();
            out.push(u8::from_str_radix(byte, 2).unwrap());
        }
        out
    }

    fn decoded(coded: &[u8]) -> Result<Vec<u8>, Malformed> {
        let mut out = Vec::new();
        decode(coded, &mut out).map(|()| out)
    }

    #[track_caller]
    fn vector(text: &str, hex: &str) {
        let bytes: Vec<u8> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..][..2], 16).unwrap())
            .collect();
        assert_eq!(decoded(&bytes), Ok(text.as_bytes().to_vec()));
        assert_eq!(encode(text.as_bytes()), bytes);
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        vector("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff");
        vector("no-cache", "a8eb10649cbf");
        vector("custom-value", "25a849e95bb8e8b4bf");
        vector("302", "6402");
        vector("private", "aec3771a4b");
        vector(
            "Mon, 21 Oct 2013 20:13:21 GMT",
            "d07abe941054d444a8200595040b8166e082a62d1bff",
        );
        vector("https://www.example.com", "9d29ad171863c78f0b97c8e9ae82ae43d3");
        vector(
            "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
            "94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587\
             316065c003ed4ee5b1063d5007",
        );
    }

    #[test]
    fn every_byte_is_read_beside_every_other() {
        for a in 0..=255 {
            for b in [a, b'0', 10, 92, 199, 255] {
                let text = [a, b, a, a, b];
                assert_eq!(decoded(&encode(&text)), Ok(text.to_vec()));
            }
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decoded(&encode(&all)), Ok(all));
        assert_eq!(decoded(b""), Ok(vec![]));
    }

    #[test]
    fn what_is_no_coding_is_refused() {
        // Padding of a whole byte, of zeros, of other bits; EOS in words;
        // a code cut off in its middle.
        for bad in [
            &[0xff][..],
            &[0x07, 0xff],
            &[0x00],
            &[0x06],
            &[0xff, 0xff, 0xff, 0xff],
            &[0x1f, 0xff, 0xff, 0xff, 0xe0],
            &[0xff, 0xff, 0xe8],
            &[0xfe],
        ] {
            assert_eq!(decoded(bad), Err(Malformed), "{bad:x?}");
        }
    }
}
