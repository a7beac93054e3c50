//! Prints the list of digests for `profiles/data.sha256`.

fn main() {
    print!("{}", profiles::data::list(&profiles::data::generate()));
}
