//! Names of entries and profiles: lower case, safe in paths, labels and HTML.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Longer than any real name; keeps paths and table cells sane.
const LONGEST: usize = 64;

/// Why a text is not a name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or nothing but white space.
    #[error("a name is empty; write something like `axum`")]
    Empty,
    /// More than 64 characters.
    #[error("name `{0}...` is longer than {LONGEST} characters; shorten it")]
    Long(String),
    /// A character outside `a-z A-Z 0-9 - _ .`, or a bad first character.
    // Escaped: it may be a stranger's, and made to act on a terminal.
    #[error(
        "name `{}` holds `{}`; use letters, digits, `-`, `_` and `.`, \
         beginning with a letter or digit",
        shown(.0),
        .1.escape_debug()
    )]
    Character(String, char),
}

fn shown(text: &str) -> String {
    text.chars().take(LONGEST).flat_map(char::escape_debug).collect()
}

fn check(text: &str) -> Result<(), NameError> {
    let first = text.chars().next().ok_or(NameError::Empty)?;
    if text.chars().count() > LONGEST {
        let begin: String = text.chars().take(24).collect();
        return Err(NameError::Long(shown(&begin)));
    }
    let bad = |c: &char| !(c.is_ascii_alphanumeric() || "-_.".contains(*c));
    match text.chars().find(bad) {
        Some(c) => Err(NameError::Character(text.to_string(), c)),
        None if !first.is_ascii_alphanumeric() => {
            Err(NameError::Character(text.to_string(), first))
        }
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $kind:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
        )]
        pub struct $kind(String);

        impl $kind {
            /// The text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $kind {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text)?;
                Ok(Self(text.to_string()))
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $kind {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(
                from: D,
            ) -> Result<Self, D::Error> {
                String::deserialize(from)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// The name of an entry: its directory under `frameworks/`.
    EntryName
);
name!(
    /// The name of a profile: the stem of its file under `profiles/defs/`.
    ProfileName
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_in_paths_and_pages() {
        for good in ["axum", "actix-web", "aspnet-minimal_nginx", "h2", "a.b"] {
            assert_eq!(good.parse::<EntryName>().unwrap().as_str(), good);
        }
        for bad in ["", "../x", "a/b", ".hidden", "-rf", "a b", "<img>", "é"] {
            assert!(bad.parse::<EntryName>().is_err(), "{bad}");
        }
        assert!("x".repeat(65).parse::<ProfileName>().is_err());
    }

    #[test]
    fn a_refused_name_does_nothing_to_a_terminal() {
        for evil in ["a\x1b[31mb", "a\nb", &"\x07".repeat(70)] {
            let error = evil.parse::<EntryName>().unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }
}
