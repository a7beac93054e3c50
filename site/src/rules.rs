//! Every rule of the validator, as the probes themselves say it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use profiles::rule::Rule;

use crate::Site;
use crate::format::count;
use crate::frame::Frame;

/// Where the page is.
pub const PATH: &str = "rules/index.html";

/// The page.
pub fn page(site: &Site, rules: &[Rule]) -> String {
    let frame = Frame { site, root: "../", title: "The rules".to_owned() };
    let mut groups: Vec<&str> = Vec::new();
    for rule in rules {
        if !groups.contains(&group(rule)) {
            groups.push(group(rule));
        }
    }
    frame.page(html! {
        p {
            "Before an entry is measured it is asked every question below, \
             with inputs drawn from a seed that is printed with the verdict. \
             This page is made from the probes that run: text and check \
             cannot disagree. "
            (count(rules.len(), "rule", "rules")) " for "
            (count(profiles(rules), "profile", "profiles")) "."
        }
        p {
            "A verdict names the rule and its version. To see one again, \
             byte for byte: "
            code { "arena validate ENTRY --replay RULE --seed N" } "."
        }
        @for name in groups {
            (section(name, rules))
        }
    })
}

/// The part of an id before its first point.
fn group(rule: &Rule) -> &str {
    rule.id.split('.').next().unwrap_or(rule.id)
}

fn profiles(rules: &[Rule]) -> usize {
    let all: BTreeSet<_> = rules.iter().flat_map(|r| &r.profiles).collect();
    all.len()
}

fn section(name: &str, rules: &[Rule]) -> Markup {
    html! {
        h2 id=(name) { (name) }
        dl.rules {
            @for rule in rules.iter().filter(|rule| group(rule) == name) {
                dt id=(rule.id) {
                    a href={ "#" (rule.id) } { (rule.id) }
                    " version " (rule.version)
                }
                dd {
                    p { (rule.rule) }
                    @if let Some(day) = rule.announced {
                        p { "Only a warning until " (day) "." }
                    }
                    p { "Right: " (rule.legal) }
                    p { "Source: " (rule.source) }
                    p { "To mend it: " (rule.hint) }
                    p { "Asked for: " (rule.profiles.join(", ")) }
                }
            }
        }
    }
}
