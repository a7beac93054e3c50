//! Which content coding a request accepts.

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encoding {
    Identity,
    Gzip,
    Brotli,
}

/// Thousandths, as a q-value has three decimals.
type Weight = u16;

/// What a request's `Accept-Encoding` says of the codings known here.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Weights {
    gzip: Option<Weight>,
    brotli: Option<Weight>,
    identity: Option<Weight>,
    rest: Option<Weight>,
}

impl Weights {
    /// Takes in one field. A member that cannot be read counts as not there.
    pub fn note(&mut self, value: &[u8]) {
        for item in value.split(|byte| *byte == b',') {
            let mark = item.iter().position(|byte| *byte == b';');
            let (coding, parameters) = match mark {
                Some(mark) => (&item[..mark], &item[mark + 1..]),
                None => (item, &b""[..]),
            };
            let coding = coding.trim_ascii();
            let slot = if coding == b"*" {
                &mut self.rest
            } else if coding.eq_ignore_ascii_case(b"gzip") {
                &mut self.gzip
            } else if coding.eq_ignore_ascii_case(b"br") {
                &mut self.brotli
            } else if coding.eq_ignore_ascii_case(b"identity") {
                &mut self.identity
            } else {
                continue;
            };
            if let Some(weight) = weight(parameters.trim_ascii()) {
                *slot = Some(weight);
            }
        }
    }

    /// Picks the coding the client likes best. Of two it likes equally the
    /// earlier in `offered` wins, and any of them wins over sending the body
    /// plain, unless the client gives `identity` a higher weight.
    pub fn choose(&self, offered: &[Encoding]) -> Encoding {
        let mut best = (Encoding::Identity, 0);
        for &encoding in offered {
            let weight = self.of(encoding);
            if weight > best.1 {
                best = (encoding, weight);
            }
        }
        match self.identity {
            Some(plain) if plain > best.1 => Encoding::Identity,
            _ => best.0,
        }
    }

    fn of(&self, encoding: Encoding) -> Weight {
        let named = match encoding {
            Encoding::Gzip => self.gzip,
            Encoding::Brotli => self.brotli,
            Encoding::Identity => self.identity,
        };
        named.or(self.rest).unwrap_or(0)
    }
}

/// Reads `q=0.8`; no parameter at all is full weight.
fn weight(parameters: &[u8]) -> Option<Weight> {
    if parameters.is_empty() {
        return Some(1000);
    }
    let (b'q' | b'Q', rest) = parameters.split_first()? else { return None };
    let value = rest.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
    let (whole, rest) = value.split_first()?;
    let mut weight = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    let Some((b'.', decimals)) = rest.split_first() else {
        return rest.is_empty().then_some(weight);
    };
    if decimals.len() > 3 {
        return None;
    }
    for (digit, worth) in decimals.iter().zip([100, 10, 1]) {
        if !digit.is_ascii_digit() {
            return None;
        }
        weight += Weight::from(digit - b'0') * worth;
    }
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::{Encoding::*, *};

    #[track_caller]
    fn check(accepted: &[&str], expected: Encoding) {
        let mut weights = Weights::default();
        for value in accepted {
            weights.note(value.as_bytes());
        }
        assert_eq!(weights.choose(&[Gzip, Brotli]), expected, "{accepted:?}");
    }

    #[test]
    fn the_highest_weight_wins_and_ties_go_to_the_first_offered() {
        check(&["gzip, br"], Gzip);
        check(&["br, gzip"], Gzip);
        check(&["br;q=1, gzip;q=0.8"], Brotli);
        check(&["br;q=0.001,gzip;q=0.002"], Gzip);
        check(&["GZIP ; Q=0.5", "br;q= 0.9"], Brotli);
        check(&["gzip;q=1., br;q=0.999"], Gzip);
        check(&["*"], Gzip);
        check(&["gzip;q=0, *"], Brotli);
    }

    #[test]
    fn what_is_not_accepted_is_not_used() {
        check(&[], Identity);
        check(&["", ",", ";", ";q=1"], Identity);
        check(&["identity"], Identity);
        check(&["gzip;q=0"], Identity);
        check(&["gzip;q=0, br;q=0.000"], Identity);
        check(&["*;q=0"], Identity);
        check(&["zstd, deflate, xgzip"], Identity);
        check(&["gzip;q=0.5, identity;q=0.6"], Identity);
        check(&["gzip;q=2", "br;q=x", "br;q=1.1", "gzip;q=0.1234"], Identity);
    }
}
