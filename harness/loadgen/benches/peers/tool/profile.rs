//! Definitions of profiles with one class.

// The bench and each test use their own part of this.
#![allow(dead_code)]

pub const SUM: &str = "ask = \"sum\"\npath = \"/baseline11\"\n\
                   operands = \"1000-9999\"";
pub const SUM2: &str = "ask = \"sum\"\npath = \"/baseline2\"\n\
                    operands = \"1000-9999\"";
pub const JSON: &str = "ask = \"json\"\npath = \"/json/\"\n\
    counts = [\"1-2\", \"3-7\", \"8-12\", \"13-17\", \"23-27\", \"38-42\", \
    \"47-50\"]\nmultiplier = \"1-99\"";
pub const ECHO: &str = "ask = \"ws-echo\"\nsizes = [\"4B-8B\"]";

pub const FILES: &str = "ask = \"static\"\nfiles = [\"components.css\", \
                     \"app.js\"]";
pub const CALL: &str = "ask = \"grpc-sum\"\noperands = \"1000-9999\"";

/// A definition in the form of `profiles/defs`; `protocol` and `class` are in
/// its words.
pub fn definition(
    title: &str,
    protocol: &str,
    in_flight: u32,
    class: &str,
) -> String {
    format!(
        "title = \"{title}\"\nsummary = \"A workload of benches/peers.\"\n\
         family = \"h1-core\"\nscored = false\nleagues = [\"engine\"]\n\
         metric = \"answers\"\nprotocol = \"{protocol}\"\nport = 8080\n\
         endpoints = [\"/\"]\n[load]\nlevels = [1]\n\
         in_flight = {in_flight}\nwindow = \"5s\"\nshare_total = 1\n\
         [server]\ncpus = \"pool\"\nreference_cpus = \"0\"\n\
         [[class]]\nname = \"only\"\nshare = 1\n{class}\n"
    )
}
