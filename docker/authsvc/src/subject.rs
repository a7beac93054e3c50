//! The claim `sub`: a string or a whole number.

use std::borrow::Cow;
use std::fmt;

use hyper::header::HeaderValue;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Who somebody is, as text.
pub struct Subject<'a>(Cow<'a, str>);

impl Subject<'_> {
    /// As the value of a header field, in UTF-8. `None` where the field would
    /// not say the same: nothing, spaces at an end, control characters.
    pub fn into_field(self) -> Option<HeaderValue> {
        let text = &*self.0;
        let plain = text.trim() == text && !text.contains(char::is_control);
        if text.is_empty() || !plain {
            return None;
        }
        HeaderValue::from_bytes(text.as_bytes()).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Subject<'a> {
    fn deserialize<D>(from: D) -> Result<Subject<'a>, D::Error>
    where
        D: Deserializer<'de>,
    {
        from.deserialize_any(Text)
    }
}

/// A number with a fraction, an exponent or more than 64 bits is refused: two
/// texts of one number would be two users, or two numbers one.
struct Text;

impl<'de> Visitor<'de> for Text {
    type Value = Subject<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a whole number")
    }

    fn visit_borrowed_str<E: Error>(
        self,
        text: &'de str,
    ) -> Result<Subject<'de>, E> {
        Ok(Subject(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Subject<'de>, E> {
        Ok(Subject(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Subject<'de>, E> {
        Ok(Subject(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Subject<'de>, E> {
        Ok(Subject(Cow::Owned(number.to_string())))
    }
}
