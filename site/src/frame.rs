//! What all pages share: head, skip link, navigation, foot.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use profiles::profile::League;

use crate::Site;
use crate::{league, rig, rules};

const CSS: &str = include_str!("style.css");

/// One page's place and title.
pub struct Frame<'a> {
    pub site: &'a Site<'a>,
    /// Way back to the site's root: empty, or `../../`.
    pub root: &'static str,
    pub title: String,
}

impl Frame<'_> {
    /// The whole page around its content.
    pub fn page(&self, content: Markup) -> String {
        let root = self.root;
        let leagues = League::ALL.into_iter().filter(|league| {
            *league == League::Framework
                || self.site.boards.contains_key(league)
        });
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Arena" }
                    link rel="icon" href="data:,";
                    style { (PreEscaped(CSS)) }
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    header {
                        p.site { "Arena" }
                        nav aria-label="Boards" {
                            ul {
                                @for league in leagues {
                                    li {
                                        a href={ (root) (league::path(league)) } {
                                            (league::title(league))
                                        }
                                    }
                                }
                                li { a href={ (root) (rules::PATH) } { "Rules" } }
                            }
                        }
                    }
                    main #main tabindex="-1" {
                        (rig::made_up(self.site))
                        h1 { (self.title) }
                        (rig::line(self.site, root))
                        (content)
                    }
                    footer {
                        p {
                            "Data of this site: "
                            a href={ (root) "data/cells.csv" } { "cells.csv" }
                            " (one row a case), "
                            a href={ (root) "data/board.json" } { "board.json" }
                            " (the rankings with their reference values), "
                            a href={ (root) "data/SHA256SUMS" } { "SHA256SUMS" }
                            "."
                        }
                        @for run in self.site.stored.iter().map(|s| &s.run.run) {
                            p {
                                "Raw records of run " (run) ": "
                                @for file in ["run.json", "samples.jsonl"] {
                                    a href={ (root) "data/runs/" (run) "/" (file) } {
                                        (file)
                                    }
                                    " "
                                }
                            }
                        }
                    }
                }
            }
        }
        .into_string()
    }
}

/// Text that only a screen reader needs.
pub fn spoken(text: &str) -> Markup {
    html! { span.v { (text) } }
}
