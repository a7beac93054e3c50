//! Integers out of a query string and out of a body.

/// The values of `names`. A parameter given twice is refused as one that is no
/// integer is: there is no telling which one is meant.
pub fn integers<const N: usize>(
    query: &[u8],
    names: [&[u8]; N],
) -> Result<[Option<i64>; N], NoInteger> {
    let mut found = [None; N];
    let mut rest = query;
    while !rest.is_empty() {
        let pair;
        (pair, rest) = split(rest, b'&');
        let (key, value) = split(pair, b'=');
        for (name, slot) in names.iter().zip(&mut found) {
            if key != *name && !decodes_to(key, name) {
                continue;
            }
            let value = match integer(value) {
                Some(value) => value,
                None => decoded_integer(value).ok_or(NoInteger)?,
            };
            if slot.replace(value).is_some() {
                return Err(NoInteger);
            }
        }
    }
    Ok(found)
}

#[derive(Debug, Eq, PartialEq)]
pub struct NoInteger;

/// What is before the first `mark`, and what is after it.
fn split(bytes: &[u8], mark: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(mark, bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// A decimal integer and nothing else.
pub fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for digit in digits {
        value = append(value, negative, *digit)?;
    }
    Some(value)
}

/// `value` with one more digit, away from zero.
fn append(value: i64, negative: bool, digit: u8) -> Option<i64> {
    if !digit.is_ascii_digit() {
        return None;
    }
    let digit = i64::from(digit - b'0');
    let value = value.checked_mul(10)?;
    if negative { value.checked_sub(digit) } else { value.checked_add(digit) }
}

/// Percent-encoding undone, byte by byte; what is none stays as it is.
fn decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if let [b'%', high, low, after @ ..] = rest {
            let digit = |byte: u8| (byte as char).to_digit(16);
            if let (Some(high), Some(low)) = (digit(*high), digit(*low)) {
                rest = after;
                return u8::try_from(high * 16 + low).ok();
            }
        }
        let (first, after) = rest.split_first()?;
        rest = after;
        Some(*first)
    })
}

fn decodes_to(key: &[u8], name: &[u8]) -> bool {
    key.contains(&b'%') && decoded(key).eq(name.iter().copied())
}

fn decoded_integer(text: &[u8]) -> Option<i64> {
    if !text.contains(&b'%') {
        return None;
    }
    let mut reader = Integer::default();
    for byte in decoded(text) {
        // White space is only ignored in bodies.
        if byte.is_ascii_whitespace() {
            return None;
        }
        reader.read(&[byte]);
    }
    reader.finish()
}

/// An integer that comes in pieces, with white space around it or not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Integer {
    state: State,
    negative: bool,
    value: i64,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Before,
    Sign,
    Digits,
    After,
    NoInteger,
}

impl Integer {
    pub fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            let space = byte.is_ascii_whitespace();
            self.state = match (self.state, byte) {
                (State::NoInteger, _) => return,
                (State::Before, _) if space => State::Before,
                (State::Digits | State::After, _) if space => State::After,
                (State::Before, b'-') => {
                    self.negative = true;
                    State::Sign
                }
                (State::After, _) => State::NoInteger,
                _ => match append(self.value, self.negative, byte) {
                    Some(value) => {
                        self.value = value;
                        State::Digits
                    }
                    None => State::NoInteger,
                },
            };
        }
    }

    pub fn finish(&self) -> Option<i64> {
        match self.state {
            State::Digits | State::After => Some(self.value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<Option<i64>, NoInteger>) {
        let found = integers(query.as_bytes(), [b"a", b"b"]);
        assert_eq!(found.map(|[a, _]| a), expected, "{query:?}");
    }

    #[test]
    fn a_parameter_is_found_wherever_it_stands() {
        check("a=13&b=42", Ok(Some(13)));
        check("b=42&x=y&a=-13", Ok(Some(-13)));
        check("&&%61=%31%33&", Ok(Some(13)));
        check("a=%2D9", Ok(Some(-9)));
        check("aa=1&b=2", Ok(None));
        check("", Ok(None));
        check("a=-9223372036854775808", Ok(Some(i64::MIN)));
    }

    #[test]
    fn what_is_no_single_integer_is_refused() {
        for bad in
            ["a", "a=", "a=-", "a=1.5", "a=+1", "a=1&a=1", "a=%", "a=%2", "b"]
        {
            check(bad, Err(NoInteger));
        }
        check("a=9223372036854775808", Err(NoInteger));
        check("a=%201", Err(NoInteger));
        check("a=1%zz", Err(NoInteger));
    }

    #[track_caller]
    fn read(pieces: &[&[u8]]) -> Option<i64> {
        let mut integer = Integer::default();
        for piece in pieces {
            integer.read(piece);
        }
        integer.finish()
    }

    #[test]
    fn a_body_is_the_same_wherever_it_is_cut() {
        let body = b" \t\r\n-9223372036854775808 \r\n";
        for end in 0..=body.len() {
            let (first, second) = body.split_at(end);
            assert_eq!(read(&[first, second]), Some(i64::MIN));
        }
    }

    #[test]
    fn a_body_that_is_no_integer_is_none() {
        for bad in [&b""[..], b" ", b"-", b"- 1", b"1 2", b"1-", b"x", b"1x"] {
            assert_eq!(read(&[bad]), None, "{}", bad.escape_ascii());
        }
        assert_eq!(read(&[b"9223372036854775808"]), None);
    }
}
