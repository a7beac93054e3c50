//! Integers out of a query string.

/// The value of `name`, percent-decoded. A parameter given twice is refused as
/// one that is no integer is: there is no telling which one is meant.
pub fn integer(query: &str, name: &str) -> Result<Option<i64>, NoInteger> {
    let mut found = None;
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        if key == name {
            let value = value.parse().map_err(|_| NoInteger)?;
            if found.replace(value).is_some() {
                return Err(NoInteger);
            }
        }
    }
    Ok(found)
}

#[derive(Debug, Eq, PartialEq)]
pub struct NoInteger;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<Option<i64>, NoInteger>) {
        assert_eq!(integer(query, "a"), expected, "{query:?}");
    }

    #[test]
    fn a_parameter_is_found_wherever_it_stands() {
        check("a=13&b=42", Ok(Some(13)));
        check("b=42&x=y&a=-13", Ok(Some(-13)));
        check("&&%61=%31%33&", Ok(Some(13)));
        check("aa=1&b=a", Ok(None));
        check("", Ok(None));
    }

    #[test]
    fn what_is_no_single_integer_is_refused() {
        check("a", Err(NoInteger));
        check("a=", Err(NoInteger));
        check("a=1.5", Err(NoInteger));
        check("a=9223372036854775808", Err(NoInteger));
        check("a=1&a=1", Err(NoInteger));
    }
}
