//! Documents that hold a list of items: `{"items":[...],"count":n}`.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};

use super::found::{Found, Key, whole};

/// No list has more numbers beside its items.
const MOST_NUMBERS: usize = 3;

/// Reads a document whose members are `items` and numbers: `names` lists them
/// all, `items` first. Every item is judged as it comes. Returns how many
/// items there were, and the numbers in the order of `names`.
pub(super) fn read(
    body: &[u8],
    names: &'static [&'static str],
    judge: impl FnMut(usize, &Found<'_>) -> Result<(), String>,
) -> Result<(i64, [i64; MOST_NUMBERS]), String> {
    let mut from = serde_json::Deserializer::from_slice(body);
    let found = from
        .deserialize_map(Document { names, judge })
        .and_then(|found| from.end().map(|()| found));
    found.map_err(not_right)
}

/// The message of a reader: what is wrong, and where.
pub(super) fn not_right(why: serde_json::Error) -> String {
    format!("not the document of the contract: {why}")
}

struct Document<F> {
    names: &'static [&'static str],
    judge: F,
}

impl<'de, F> Visitor<'de> for Document<F>
where
    F: FnMut(usize, &Found<'_>) -> Result<(), String>,
{
    type Value = (i64, [i64; MOST_NUMBERS]);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with items")
    }

    fn visit_map<A: MapAccess<'de>>(
        mut self,
        mut map: A,
    ) -> Result<Self::Value, A::Error> {
        let (mut items, mut numbers) = (None, [None; MOST_NUMBERS]);
        while let Some(key) = map.next_key_seed(Key(self.names))? {
            let before = match key.checked_sub(1) {
                None => items
                    .replace(map.next_value_seed(Items(&mut self.judge))?)
                    .is_some(),
                Some(n) => numbers[n].replace(whole(&mut map)?).is_some(),
            };
            if before {
                return Err(A::Error::duplicate_field(self.names[key]));
            }
        }
        let missing = || A::Error::missing_field("items");
        let items = items.ok_or_else(missing)?;
        let mut all = [0; MOST_NUMBERS];
        for ((to, found), name) in
            all.iter_mut().zip(numbers).zip(&self.names[1..])
        {
            *to = found.ok_or_else(|| A::Error::missing_field(name))?;
        }
        Ok((items as i64, all))
    }
}

struct Items<'f, F>(&'f mut F);

impl<'de, F> DeserializeSeed<'de> for Items<'_, F>
where
    F: FnMut(usize, &Found<'_>) -> Result<(), String>,
{
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(
        self,
        from: D,
    ) -> Result<usize, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, F> Visitor<'de> for Items<'_, F>
where
    F: FnMut(usize, &Found<'_>) -> Result<(), String>,
{
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }
    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> Result<usize, A::Error> {
        let mut count = 0;
        while let Some(item) = list.next_element::<Found<'de>>()? {
            (self.0)(count, &item).map_err(|why| {
                A::Error::custom(format_args!("item {}: {why}", count + 1))
            })?;
            count += 1;
        }
        Ok(count)
    }
}
