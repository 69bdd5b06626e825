//! The files of declared extensions: errors name the file and the key, so that nobody has to search.

use std::fs;
use std::path::Path;

use portico::declared::{BadDeclaration, Declaration, FieldForm, Target, load};
use portico::dev::temporary::TemporaryDirectory;
use serde_json::json;

const GOOD: &str = r#"
namespace = "garden"
[resources.plant-pots]
singular = "plant_pot"
version = 1
description = "A pot."
search = ["label"]
filters = ["label", "size", "glazed", "shelf"]
references = { shelf = "garden/shelves" }
becomes = { label = { broken = "plant_pot.broken" } }
[resources.plant-pots.schema]
type = "object"
required = ["label"]
[resources.plant-pots.schema.properties]
label = { type = "string" }
size = { type = "integer", default = 3 }
glazed = { type = ["boolean", "null"] }
shelf = { type = "string" }
parts = { type = "array" }
[resources.plant-pots.sample]
label = "Blue"
[resources.shelves]
singular = "shelf"
version = 2
description = "A shelf."
schema = { type = "object", properties = {} }
sample = {}
"#;

fn load_text(text: &str) -> Result<Vec<Declaration>, BadDeclaration> {
    let directory = TemporaryDirectory::make("declared").unwrap();
    fs::write(directory.path().join("garden.toml"), text).unwrap();
    let orders = Target { kind: "fleet/orders".to_owned(), table: Some("orders"), prefix: "order" };
    load(directory.path(), &[orders])
}

#[test]
fn a_good_file_is_understood() {
    let declarations = load_text(GOOD).unwrap();
    let [pots, shelves] = &declarations[..] else { panic!("two resources") };
    assert_eq!((pots.kind.as_str(), pots.terms().plural, pots.version), ("garden/plant-pots", "plant_pots", 1));
    assert_eq!(pots.filters["shelf"], FieldForm::Reference);
    assert_eq!(pots.defaults()["size"], 3);
    assert_eq!((shelves.singular.as_str(), shelves.version), ("shelf", 2));
    assert_eq!(pots.check(json!({ "label": 5, "colour": "blue" }).as_object().unwrap()).len(), 2);
    assert!(pots.check(json!({ "label": "a", "meta": { "x": 1 } }).as_object().unwrap()).is_empty());
}

#[test]
fn a_bad_file_is_refused_by_its_name_and_the_key() {
    for (good, bad, key) in [
        ("namespace = \"garden\"", "namespace = \"Garden\"", "namespace"),
        ("namespace = \"garden\"", "namespace = \"fleet\"", "namespace"),
        ("namespace = \"garden\"", "name = \"garden\"", "name"),
        ("version = 1", "version = \"one\"", "resources.plant-pots.version"),
        ("version = 1", "version = 0", "resources.plant-pots.version"),
        ("singular = \"plant_pot\"", "singular = \"plant-pot\"", "resources.plant-pots.singular"),
        ("singular = \"shelf\"", "singular = \"plant_pot\"", "resources.shelves.singular"),
        ("search = [\"label\"]", "search = [\"size\"]", "resources.plant-pots.search"),
        ("filters = [\"label\"", "filters = [\"parts\"", "resources.plant-pots.filters"),
        ("garden/shelves", "garden/benches", "resources.plant-pots.references.shelf"),
        ("references = { shelf", "references = { bench", "resources.plant-pots.references.bench"),
        ("plant_pot.broken", "pot.broken", "resources.plant-pots.becomes.label.broken"),
        ("label = { type = \"string\" }", "label = { type = \"text\" }", "resources.plant-pots.search"),
        ("parts = { type = \"array\" }", "parts = { \"$ref\" = \"http://127.0.0.1:1/x\" }", "resources.plant-pots.schema"),
        ("parts = { type = \"array\" }", "id = { type = \"string\" }", "resources.plant-pots.schema.properties.id"),
        ("type = \"object\"\nrequired", "type = \"array\"\nrequired", "resources.plant-pots.schema.type"),
        ("label = \"Blue\"", "label = 5", "resources.plant-pots.sample"),
    ] {
        assert!(GOOD.contains(good), "{good}");
        let refused = load_text(&GOOD.replacen(good, bad, 1)).unwrap_err();
        assert_eq!(refused.key, key, "{refused}");
        assert!(refused.to_string().contains("garden.toml"), "{refused}");
    }
    assert!(load_text("namespace = ").unwrap_err().to_string().contains("garden.toml"));
    assert!(load(Path::new("/nowhere/at/all"), &[]).unwrap_err().to_string().contains("/nowhere/at/all"));
}
