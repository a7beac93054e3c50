//! What a document says of one item, read without an allocation.
//!
//! Member order and white space are free. A member that occurs twice is
//! refused, since readers disagree on which one counts; so is one that no item
//! has. Objects must be objects: serde's derived readers would take an array
//! of the same values too.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// No item has more tags.
const MOST_TAGS: usize = 4;

/// The members of an item, as bits.
pub(super) const ID: u16 = 1;
pub(super) const NAME: u16 = 1 << 1;
pub(super) const CATEGORY: u16 = 1 << 2;
pub(super) const PRICE: u16 = 1 << 3;
pub(super) const QUANTITY: u16 = 1 << 4;
pub(super) const ACTIVE: u16 = 1 << 5;
pub(super) const TAGS: u16 = 1 << 6;
pub(super) const RATING: u16 = 1 << 7;
pub(super) const TOTAL: u16 = 1 << 8;
/// The eight that every item of the data has.
pub(super) const ITEM: u16 = TOTAL - 1;

/// Their names, in the order of the bits.
const NAMES: [&str; 9] = [
    "id", "name", "category", "price", "quantity", "active", "tags", "rating",
    "total",
];

/// An item as it was found. A member whose bit is not set says nothing.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    members: u16,
    pub(super) id: i64,
    pub(super) name: Text<'a>,
    pub(super) category: Text<'a>,
    pub(super) price: i64,
    pub(super) quantity: i64,
    pub(super) active: bool,
    pub(super) tags: TagList<'a>,
    pub(super) rating: Rating,
    pub(super) total: i64,
}

impl Found<'_> {
    /// Whether it has a member.
    pub(super) fn has(&self, member: u16) -> bool {
        self.members & member != 0
    }

    /// All `required` members are there and none but those and `optional`.
    pub(super) fn members(
        &self,
        required: u16,
        optional: u16,
    ) -> Result<(), String> {
        let missing = required & !self.members;
        let surplus = self.members & !(required | optional);
        let name = |bits: u16| NAMES[bits.trailing_zeros() as usize];
        if missing != 0 {
            return Err(format!("missing field `{}`", name(missing)));
        }
        if surplus != 0 {
            return Err(format!("unknown field `{}`", name(surplus)));
        }
        Ok(())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Found<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Found<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Found<'de>, A::Error> {
                let mut found = Found::default();
                while let Some(key) = map.next_key_seed(Key(&NAMES))? {
                    let bit = 1 << key;
                    if found.has(bit) {
                        return Err(A::Error::duplicate_field(NAMES[key]));
                    }
                    found.members |= bit;
                    match bit {
                        ID => found.id = whole(&mut map)?,
                        NAME => found.name = map.next_value()?,
                        CATEGORY => found.category = map.next_value()?,
                        PRICE => found.price = whole(&mut map)?,
                        QUANTITY => found.quantity = whole(&mut map)?,
                        ACTIVE => found.active = map.next_value()?,
                        TAGS => found.tags = map.next_value()?,
                        RATING => found.rating = map.next_value()?,
                        TOTAL => found.total = whole(&mut map)?,
                        _ => map.next_value::<IgnoredAny>().map(drop)?,
                    }
                }
                Ok(found)
            }
        }
        from.deserialize_map(Members)
    }
}

/// The value of a member that is a whole number.
pub(super) fn whole<'de, A: MapAccess<'de>>(
    map: &mut A,
) -> Result<i64, A::Error> {
    map.next_value::<Int>().map(|int| int.0)
}

/// Reads a member's name: its index in the list, which holds them all.
pub(super) struct Key(pub(super) &'static [&'static str]);

impl<'de> serde::de::DeserializeSeed<'de> for Key {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(
        self,
        from: D,
    ) -> Result<usize, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        let index = self.0.iter().position(|n| *n == name);
        index.ok_or_else(|| E::unknown_field(&clip(name), self.0))
    }
}

/// A whole number, written without a fraction or an exponent.
struct Int(i64);

impl<'de> Deserialize<'de> for Int {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Int, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Int;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Int, E> {
                Ok(Int(v))
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Int, E> {
                i64::try_from(v).map(Int).map_err(E::custom)
            }
        }
        from.deserialize_i64(Whole)
    }
}

/// A text; only one with escapes is a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Letters;
        impl<'de> Visitor<'de> for Letters {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(
                self,
                v: &'de str,
            ) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(v)))
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(v.to_owned())))
            }
        }
        from.deserialize_str(Letters)
    }
}

/// Tags in their order.
#[derive(Debug, Default)]
pub(super) struct TagList<'a> {
    texts: [Text<'a>; MOST_TAGS],
    count: usize,
}

impl TagList<'_> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts[..self.count].iter().map(|text| text.0.as_ref())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for TagList<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = TagList<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of tags")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<TagList<'de>, A::Error> {
                let mut tags = TagList::default();
                while let Some(text) = list.next_element()? {
                    let Some(slot) = tags.texts.get_mut(tags.count) else {
                        return Err(A::Error::custom("more than four tags"));
                    };
                    *slot = text;
                    tags.count += 1;
                }
                Ok(tags)
            }
        }
        from.deserialize_seq(Texts)
    }
}

/// Score and count of a rating.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Rating {
    pub(super) score: i64,
    pub(super) count: i64,
}

impl<'de> Deserialize<'de> for Rating {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const NAMES: [&str; 2] = ["score", "count"];
        struct Both;
        impl<'de> Visitor<'de> for Both {
            type Value = Rating;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rating of score and count")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Rating, A::Error> {
                let mut found = [None; 2];
                while let Some(key) = map.next_key_seed(Key(&NAMES))? {
                    if found[key].replace(whole(&mut map)?).is_some() {
                        return Err(A::Error::duplicate_field(NAMES[key]));
                    }
                }
                match found {
                    [Some(score), Some(count)] => Ok(Rating { score, count }),
                    [None, _] => Err(A::Error::missing_field("score")),
                    [_, None] => Err(A::Error::missing_field("count")),
                }
            }
        }
        from.deserialize_map(Both)
    }
}

fn clip(text: &str) -> String {
    super::clip(text.as_bytes())
}
