//! Where in a `meta.json` something stands, so that a fault can point at it.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// The text of one file and the places in it.
pub(super) struct Spots<'a> {
    pub(super) json: &'a str,
    object: Option<Object<'a>>,
}

impl<'a> Spots<'a> {
    /// Of a text that serde_json has read; another gives no places.
    pub(super) fn of(json: &'a str) -> Spots<'a> {
        let (collect, parse) =
            (CollectOptions::default(), ParseOptions::default());
        let value = parse_to_ast(json, &collect, &parse);
        let object = match value.ok().and_then(|parsed| parsed.value) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        };
        Spots { json, object }
    }

    fn properties(&self) -> &[ObjectProp<'a>] {
        self.object.as_ref().map_or(&[], |object| &object.properties)
    }

    /// Its keys as they stand, each with its place.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.properties().iter().map(|p| (name(p), span(&p.name)))
    }

    /// The value of a field, `local.run` too; where there is none, the key
    /// above it.
    pub(super) fn value(&self, field: &str) -> Option<Range<usize>> {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let found = self.properties().iter().rev();
        let found = { found }.find(|p| name(p) == first)?;
        let inner = match (&found.value, rest) {
            (Value::Object(inner), rest) if !rest.is_empty() => inner
                .properties
                .iter()
                .rev()
                .find(|p| name(p) == rest)
                .map(|p| span(&p.value)),
            _ => None,
        };
        Some(inner.unwrap_or_else(|| span(&found.value)))
    }

    /// The item of a list at `index`, or the whole value.
    pub(super) fn item(
        &self,
        field: &str,
        index: usize,
    ) -> Option<Range<usize>> {
        let found = self.properties().iter().rev();
        let found = { found }.find(|p| name(p) == field)?;
        match &found.value {
            Value::Array(list) => list.elements.get(index).map(span),
            _ => None,
        }
        .or_else(|| self.value(field))
    }
}

fn name<'b>(of: &'b ObjectProp<'_>) -> &'b str {
    match &of.name {
        ObjectPropName::String(text) => &text.value,
        ObjectPropName::Word(word) => word.value,
    }
}

fn span(of: &impl jsonc_parser::common::Ranged) -> Range<usize> {
    of.start()..of.end()
}
