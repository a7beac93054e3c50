//! Looking through bytes eight at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;
const DELETE: u8 = 0x7f;

/// Where a field's value ends: at the first byte that may not stand in one.
/// Tabs may, and so may bytes that are no ASCII.
pub fn end_of_value(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += find(&bytes[at..], |word| {
            // A tab is found, too, and stepped over.
            below::<0x20>(word) | equal::<DELETE>(word)
        });
        match bytes.get(at) {
            Some(b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// Where a request target ends: at the first byte that is no visible ASCII.
pub fn end_of_target(bytes: &[u8]) -> usize {
    find(bytes, |word| {
        below::<0x21>(word) | equal::<DELETE>(word) | (word & HIGH)
    })
}

/// The first byte for which `marks` sets the high bit, or the end. Above that
/// byte `marks` may set what it likes: a borrow runs upwards only.
fn find(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return number * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let mut last = [b'.'; 8];
    last[..rest.len()].copy_from_slice(rest);
    let found = marks(u64::from_le_bytes(last)).trailing_zeros() as usize / 8;
    words.len() * 8 + found.min(rest.len())
}

/// Marks bytes below `LIMIT`, which is at most 0x80.
fn below<const LIMIT: u8>(word: u64) -> u64 {
    word.wrapping_sub(ONES * LIMIT as u64) & !word & HIGH
}

/// Marks bytes that are `BYTE`.
fn equal<const BYTE: u8>(word: u64) -> u64 {
    below::<1>(word ^ (ONES * BYTE as u64))
}

/// Whether the byte may stand in a token: a method or a field's name.
pub fn in_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let one = byte as u8;
        table[byte] = one.is_ascii_alphanumeric()
            || matches!(
                one,
                b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+'
            )
            || matches!(one, b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place, before and after every other neighbour that
    /// could carry into it.
    #[test]
    fn every_byte_is_found_wherever_it_stands() {
        for at in 0..20 {
            for byte in 0..=255u8 {
                for next in [0x00, 0x20, 0x21, 0x7e, 0x7f, 0x80, 0xff] {
                    let mut bytes = *b"aaaaaaaaaaaaaaaaaaaaaa";
                    bytes[at] = byte;
                    bytes[at + 1] = next;
                    let slow = |ends: &dyn Fn(u8) -> bool| {
                        let end = bytes.iter().position(|b| ends(*b));
                        end.unwrap_or(bytes.len())
                    };
                    assert_eq!(
                        end_of_value(&bytes),
                        slow(&|b| b.is_ascii_control() && b != b'\t'),
                        "{bytes:?}"
                    );
                    assert_eq!(
                        end_of_target(&bytes),
                        slow(&|b| !b.is_ascii_graphic()),
                        "{bytes:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn nothing_has_its_end_at_its_start() {
        assert_eq!(end_of_value(b""), 0);
        assert_eq!(end_of_target(b""), 0);
        assert_eq!(end_of_value(b"\t\t"), 2);
    }

    #[test]
    fn tokens_are_those_of_the_rfc() {
        let tokens = (0..=255).filter(|byte| in_token(*byte)).count();
        assert_eq!(tokens, 26 + 26 + 10 + 15);
        assert!(!in_token(b':') && !in_token(b' ') && !in_token(0x80));
    }
}
