//! The tables of the database profiles: `items` and `users`.
//!
//! They are made in memory by whoever needs them, the oracle as well as the
//! database that is seeded, so no file of them is stored.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;

use super::dataset::{CATEGORIES, NAMES, TAGS};
use super::stream::Stream;

/// Rows of the `items` table; their ids run from 1.
pub const ROWS: usize = 100_000;

/// The most tags a row has.
pub const MOST_TAGS: usize = 4;

/// The highest price of a row; the lowest is 1.
pub const MAX_PRICE: i64 = 500;

/// One row as it is kept: names, categories and tags are indices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Packed {
    price: u16,
    quantity: u16,
    rating_count: u16,
    rating_score: u8,
    name: u8,
    category: u8,
    active: bool,
    tags: Tags,
}

/// Up to four of [`TAGS`], by index and in their order.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Tags {
    indices: [u8; MOST_TAGS],
    count: u8,
}

impl Tags {
    /// The tags in their order.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        let indices = &self.indices[..usize::from(self.count)];
        indices.iter().map(|i| TAGS[usize::from(*i)])
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// One row of `items`. Its name is `base` and its id: `Alpha Widget 17`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// The primary key.
    pub id: i64,
    /// The name without the id.
    pub base: &'static str,
    /// One of [`CATEGORIES`].
    pub category: &'static str,
    /// 1 to 500.
    pub price: i64,
    /// 1 to 1000.
    pub quantity: i64,
    /// Whether the item is on sale at all.
    pub active: bool,
    /// One to four different tags.
    pub tags: Tags,
    /// 1 to 50.
    pub rating_score: i64,
    /// 1 to 500.
    pub rating_count: i64,
}

impl Row {
    /// The whole name.
    pub fn name(&self) -> String {
        format!("{} {}", self.base, self.id)
    }

    /// Whether `text` is the whole name. Allocates nothing.
    pub fn is_named(&self, text: &str) -> bool {
        let digits = text
            .strip_prefix(self.base)
            .and_then(|rest| rest.strip_prefix(' '))
            .filter(|digits| !digits.starts_with(['0', '+']));
        digits.is_some_and(|digits| digits.parse() == Ok(self.id))
    }
}

/// The whole `items` table.
#[derive(Debug)]
pub struct Rows {
    /// By id, from 1.
    rows: Vec<Packed>,
    /// Ids by category, in their order.
    by_category: [Vec<u32>; CATEGORIES.len()],
    /// How many rows have a price up to the index.
    up_to_price: [u32; MAX_PRICE as usize + 1],
}

impl Rows {
    /// The one table; always the same. The first call makes it, in some ten
    /// milliseconds; it takes 2 MB and is kept.
    pub fn get() -> &'static Rows {
        static ROWS: OnceLock<Rows> = OnceLock::new();
        ROWS.get_or_init(Rows::generate)
    }

    fn generate() -> Rows {
        let mut stream = Stream::named("items");
        let rows: Vec<Packed> = (0..ROWS).map(|_| draw(&mut stream)).collect();
        let mut by_category: [Vec<u32>; CATEGORIES.len()] = Default::default();
        let mut up_to_price = [0; MAX_PRICE as usize + 1];
        for (id, row) in (1..).zip(&rows) {
            by_category[usize::from(row.category)].push(id);
            up_to_price[usize::from(row.price)] += 1;
        }
        for price in 1..up_to_price.len() {
            up_to_price[price] += up_to_price[price - 1];
        }
        Rows { rows, by_category, up_to_price }
    }

    /// The row with this id.
    #[inline]
    pub fn row(&self, id: i64) -> Option<Row> {
        let index = usize::try_from(id.checked_sub(1)?).ok()?;
        let row = self.rows.get(index)?;
        Some(Row {
            id,
            base: NAMES[usize::from(row.name)],
            category: CATEGORIES[usize::from(row.category)],
            price: row.price.into(),
            quantity: row.quantity.into(),
            active: row.active,
            tags: row.tags,
            rating_score: row.rating_score.into(),
            rating_count: row.rating_count.into(),
        })
    }

    /// All rows, in order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        (1..=self.rows.len() as i64).filter_map(|id| self.row(id))
    }

    /// The ids of `category`, in their order; `None` when there is no such.
    pub fn ids_of(&self, category: &str) -> Option<&[u32]> {
        let index = CATEGORIES.iter().position(|c| *c == category)?;
        self.by_category.get(index).map(Vec::as_slice)
    }

    /// How many rows have a price of `min..=max`.
    pub fn count_priced(&self, min: i64, max: i64) -> u32 {
        let up_to =
            |price: i64| self.up_to_price[price.clamp(0, MAX_PRICE) as usize];
        up_to(max).saturating_sub(up_to(min.saturating_sub(1)))
    }

    /// Writes the table in the text format of PostgreSQL's `COPY items FROM`,
    /// columns in the order of the table. Nothing in it needs an escape.
    ///
    /// # Errors
    ///
    /// If `out` takes no more.
    pub fn write_copy(&self, mut out: impl Write) -> io::Result<()> {
        for row in self.iter() {
            let Row { id, base, category, price, quantity, .. } = row;
            let active = if row.active { 't' } else { 'f' };
            write!(out, "{id}\t{base} {id}\t{category}\t{price}\t{quantity}")?;
            write!(out, "\t{active}\t[")?;
            for (index, tag) in row.tags.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(out, "{comma}\"{tag}\"")?;
            }
            writeln!(out, "]\t{}\t{}", row.rating_score, row.rating_count)?;
        }
        Ok(())
    }
}

fn draw(stream: &mut Stream) -> Packed {
    let price = stream.range(1, MAX_PRICE as u32) as u16;
    let quantity = stream.range(1, 1000) as u16;
    let active = stream.below(2) == 0;
    let count = stream.range(1, MOST_TAGS as u32) as u8;
    let mut tags = Tags { count, ..Tags::default() };
    // The first steps of a Fisher-Yates shuffle: distinct, order matters.
    let mut all: [u8; TAGS.len()] = std::array::from_fn(|i| i as u8);
    for i in 0..usize::from(count) {
        all.swap(i, i + stream.below((TAGS.len() - i) as u32) as usize);
        tags.indices[i] = all[i];
    }
    Packed {
        price,
        quantity,
        active,
        tags,
        name: stream.below(NAMES.len() as u32) as u8,
        category: stream.below(CATEGORIES.len() as u32) as u8,
        rating_score: stream.range(1, 50) as u8,
        rating_count: stream.range(1, 500) as u16,
    }
}

/// One row of `users`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct User {
    /// The primary key.
    pub id: i64,
    /// The whole name.
    pub name: &'static str,
    /// The address.
    pub email: &'static str,
    /// What they pay for.
    pub plan: &'static str,
}

impl User {
    /// The user with this id.
    pub fn with_id(id: i64) -> Option<&'static User> {
        USERS.iter().find(|user| user.id == id)
    }
}

/// All rows of `users`.
pub const USERS: [User; 4] = [
    User { id: 42, name: "Ada Brook", email: "ada@arena.example", plan: "pro" },
    User {
        id: 43,
        name: "Ben Hollis",
        email: "ben@arena.example",
        plan: "free",
    },
    User {
        id: 44,
        name: "Cleo Marsh",
        email: "cleo@arena.example",
        plan: "team",
    },
    User {
        id: 45,
        name: "Dov Lindqvist",
        email: "dov@arena.example",
        plan: "enterprise",
    },
];
