//! What is written down reads back as it was.

mod made_up;

use profiles::record::{Outcome, Record};
use profiles::sample::Shot;

#[test]
fn a_measured_shot_reads_back_from_the_guns_output_and_from_the_record() {
    let case = made_up::case("axum", "json", 512);
    let record = made_up::measured(1, case, made_up::sample(1000, 512));
    let line = serde_json::to_string(&record).unwrap();
    assert!(line.contains("\"statuses\":{\"200\":"), "{line}");
    assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    let Outcome::Measured { sample, .. } = record.outcome else {
        panic!("not measured");
    };
    let shot = Shot::Measured(sample);
    let text = serde_json::to_string(&shot).unwrap();
    assert_eq!(serde_json::from_str::<Shot>(&text).unwrap(), shot);
}
