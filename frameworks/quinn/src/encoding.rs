//! Which content coding a request accepts.

use http::{HeaderMap, header::ACCEPT_ENCODING};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encoding {
    Identity,
    Gzip,
    Brotli,
}

/// Thousandths, as a q-value has three decimals.
type Weight = u16;

/// Picks the coding the client likes best. Of two it likes equally the earlier
/// in `offered` wins, and any of them wins over sending the body plain, unless
/// the client gives `identity` a higher weight.
pub fn negotiate(headers: &HeaderMap, offered: &[Encoding]) -> Encoding {
    let mut weights = Weights::default();
    for value in headers.get_all(ACCEPT_ENCODING) {
        for item in value.to_str().unwrap_or_default().split(',') {
            weights.note(item);
        }
    }
    let mut best = (Encoding::Identity, 0);
    for &encoding in offered {
        let weight = weights.of(encoding);
        if weight > best.1 {
            best = (encoding, weight);
        }
    }
    match weights.identity {
        Some(plain) if plain > best.1 => Encoding::Identity,
        _ => best.0,
    }
}

#[derive(Default)]
struct Weights {
    gzip: Option<Weight>,
    brotli: Option<Weight>,
    identity: Option<Weight>,
    rest: Option<Weight>,
}

impl Weights {
    /// Takes in one member of the list; one that cannot be read counts as
    /// not there.
    fn note(&mut self, item: &str) {
        let (coding, parameters) = item.split_once(';').unwrap_or((item, ""));
        let Some(weight) = weight(parameters.trim()) else { return };
        let coding = coding.trim();
        let slot = if coding == "*" {
            &mut self.rest
        } else if coding.eq_ignore_ascii_case("gzip") {
            &mut self.gzip
        } else if coding.eq_ignore_ascii_case("br") {
            &mut self.brotli
        } else if coding.eq_ignore_ascii_case("identity") {
            &mut self.identity
        } else {
            return;
        };
        *slot = Some(weight);
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
fn weight(parameters: &str) -> Option<Weight> {
    if parameters.is_empty() {
        return Some(1000);
    }
    let (name, value) = parameters.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value: f32 = value.trim().parse().ok()?;
    (0.0..=1.0).contains(&value).then_some((value * 1000.0).round() as Weight)
}

#[cfg(test)]
mod tests {
    use super::{Encoding::*, *};

    #[track_caller]
    fn check(accepted: &[&str], expected: Encoding) {
        let mut headers = HeaderMap::new();
        for value in accepted {
            headers.append(ACCEPT_ENCODING, value.parse().unwrap());
        }
        let found = negotiate(&headers, &[Gzip, Brotli]);
        assert_eq!(found, expected, "{accepted:?}");
    }

    #[test]
    fn the_highest_weight_wins_and_ties_go_to_the_first_offered() {
        check(&["gzip, br"], Gzip);
        check(&["br, gzip"], Gzip);
        check(&["br;q=1, gzip;q=0.8"], Brotli);
        check(&["br;q=0.001,gzip;q=0.002"], Gzip);
        check(&["GZIP ; Q=0.5", "br;q=0.9"], Brotli);
        check(&["*"], Gzip);
        check(&["gzip;q=0, *"], Brotli);
    }

    #[test]
    fn what_is_not_accepted_is_not_used() {
        check(&[], Identity);
        check(&[""], Identity);
        check(&["identity"], Identity);
        check(&["gzip;q=0"], Identity);
        check(&["gzip;q=0, br;q=0.000"], Identity);
        check(&["*;q=0"], Identity);
        check(&["zstd, deflate, xgzip"], Identity);
        check(&["gzip;q=0.5, identity;q=0.6"], Identity);
        check(&["gzip;q=2", "br;q=x"], Identity);
    }
}
