//! YAML as compose files use it, read so that no file can blow up.

use saphyr::{LoadableYamlNode as _, Scalar, YamlData};
use saphyr_parser::{Event, Parser};

pub use saphyr::MarkedYaml;

/// Honest files have a handful; more can make a small file huge.
const MOST_ALIASES: usize = 16;
const DEEPEST: usize = 32;

/// The first document of a text.
///
/// # Errors
///
/// The line, and what is wrong there.
pub fn load(text: &str) -> Result<MarkedYaml<'_>, (usize, String)> {
    harmless(text)?;
    let mut documents = MarkedYaml::load_from_str(text).unwrap_or_default();
    if documents.is_empty() {
        return Err((0, "an empty file".into()));
    }
    Ok(documents.swap_remove(0))
}

/// A file is read into a tree only when that cannot blow up.
fn harmless(text: &str) -> Result<(), (usize, String)> {
    let (mut depth, mut aliases) = (0_usize, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|e| (e.marker().line(), e.info().to_string()))?;
        match event {
            Event::Alias(_) => aliases += 1,
            Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
            Event::SequenceEnd | Event::MappingEnd => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if depth > DEEPEST || aliases > MOST_ALIASES {
            let what =
                format!("more than {MOST_ALIASES} aliases or {DEEPEST} levels");
            return Err((span.start.line(), what));
        }
    }
    Ok(())
}

/// `${NAME:-default}` is its default.
pub fn default_of(value: &str) -> String {
    let inner = value.strip_prefix("${").and_then(|v| v.strip_suffix('}'));
    let default = inner
        .and_then(|v| v.split_once(":-").or_else(|| v.split_once('-')))
        .map(|(_, default)| default);
    default.unwrap_or(value).to_string()
}

/// The value of a key, also of one that `<<` brings in.
pub fn get<'y>(
    node: &'y MarkedYaml<'y>,
    key: &str,
) -> Option<&'y MarkedYaml<'y>> {
    let all = pairs(node);
    all.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// All keys and values of a mapping, those of `<<` after its own.
pub fn pairs<'y>(
    node: &'y MarkedYaml<'y>,
) -> Vec<(String, &'y MarkedYaml<'y>)> {
    let Some(mapping) = node.data.as_mapping() else { return Vec::new() };
    let (mut own, mut merged) = (Vec::new(), Vec::new());
    for (key, value) in mapping {
        match &text(key)[..] {
            "<<" if value.data.is_sequence() => {
                merged.extend(items(value).flat_map(pairs));
            }
            "<<" => merged.extend(pairs(value)),
            key => own.push((key.to_string(), value)),
        }
    }
    own.extend(merged);
    own
}

/// The items of a sequence.
pub fn items<'y>(
    node: &'y MarkedYaml<'y>,
) -> impl Iterator<Item = &'y MarkedYaml<'y>> {
    node.data.as_sequence().into_iter().flatten()
}

/// A scalar as it is written; empty for anything else.
pub fn text(node: &MarkedYaml<'_>) -> String {
    let YamlData::Value(scalar) = &node.data else { return String::new() };
    match scalar {
        Scalar::Null => String::new(),
        Scalar::Boolean(b) => b.to_string(),
        Scalar::Integer(n) => n.to_string(),
        Scalar::FloatingPoint(n) => n.to_string(),
        Scalar::String(text) => text.to_string(),
    }
}
