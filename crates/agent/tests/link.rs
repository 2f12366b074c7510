//! Links with conditions in real namespaces: needs root, and ping(8).

mod common;

use common::links::{Lab, plan, under};
use serde_json::json;

#[test]
fn each_direction_has_its_own_delay() {
    let members = [under(json!({"delay_ns": 5_000_000})), under(json!({"delay_ns": 3_000_000}))];
    let lab = Lab::up("cable", &plan(&members, &json!({})));
    for (to, more) in [("10.9.0.2", [].as_slice()), ("fd09::2", &["-6"])] {
        let times = lab.ping("n1", to, 20, more);
        assert_eq!(times.len(), 20);
        assert!(times.iter().all(|&time| time >= 8.0), "{times:?}");
        assert!(times.iter().filter(|&&time| time < 8.5).count() > 10, "{times:?}");
    }
    let links = lab.links();
    assert_eq!((&links["state"], &links["why"]), (&json!("running"), &json!(null)));
    let [there, back] = links["directions"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!((&there["node"], &there["asked"]), (&json!("n1"), &members[0]["conditions"]));
    assert!(there["out"]["frames"].as_u64() >= Some(40), "{there}");
    assert_eq!(there["in"], there["out"]);
    assert_eq!(back["in"], back["out"]);
    assert!(there["late"]["min_ns"].as_i64() >= Some(0), "{there}");
    lab.down();
}
