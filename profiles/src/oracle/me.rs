//! `GET /api/me`: `{id, name, email, plan}` and nothing else.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error, MapAccess, Visitor};

use super::found::{Key, Text, whole};
use super::json::differ;
use super::list::not_right;
use crate::data::User;

const NAMES: [&str; 4] = ["id", "name", "email", "plan"];

/// Compares `body` with the row of `user`, as it is read.
pub(super) fn compare(user: &User, body: &[u8]) -> Result<(), String> {
    let mut from = serde_json::Deserializer::from_slice(body);
    from.deserialize_map(Columns(user))
        .and_then(|()| from.end())
        .map_err(not_right)
}

struct Columns<'u>(&'u User);

impl<'de> Visitor<'de> for Columns<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a user")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = [false; NAMES.len()];
        while let Some(key) = map.next_key_seed(Key(&NAMES))? {
            if std::mem::replace(&mut seen[key], true) {
                return Err(A::Error::duplicate_field(NAMES[key]));
            }
            let right = match key {
                0 => differ("id", &self.0.id, &whole(&mut map)?),
                _ => {
                    let columns = [self.0.name, self.0.email, self.0.plan];
                    let found: Text<'_> = map.next_value()?;
                    differ(NAMES[key], columns[key - 1], &found.0)
                }
            };
            right.map_err(A::Error::custom)?;
        }
        match seen.iter().position(|seen| !seen) {
            Some(key) => Err(A::Error::missing_field(NAMES[key])),
            None => Ok(()),
        }
    }
}
