//! The files of declared extensions: errors name the file and the key.

use std::fs;
use std::path::Path;

use portico::app;
use portico::declared::{BuiltIn, Declaration, InvalidDeclaration, load};
use portico::fleet::orders::Order;
use portico::resources::{Operation, Referable, ResourceDescriptor};
use serde_json::json;

use crate::declared::garden;
use crate::support::World;
use crate::support::program::{portico, printed, refused};

const GOOD: &str = r##"
namespace = "garden"
[resources.plant-pots]
singular = "plant_pot"
version = 1
description = "A pot."
search = ["label"]
filters = ["label", "size", "glazed", "shelf"]
references = { shelf = "garden/shelves", order = "fleet/orders" }
becomes = { state = { broken = "plant_pot.broken", cracked = "plant_pot.broken" } }
[resources.plant-pots.schema]
type = "object"
required = ["label", "size"]
[resources.plant-pots.schema."$defs"]
short = { type = "string", maxLength = 20 }
[resources.plant-pots.schema.properties]
label = { "$ref" = "#/$defs/short", description = "What is written on it." }
size = { type = "integer", default = 3 }
glazed = { type = ["boolean", "null"] }
shelf = { type = "string" }
order = { type = "string" }
state = { type = "string", enum = ["whole", "cracked", "broken"] }
parts = { type = "array" }
[resources.plant-pots.sample]
label = "Blue"
size = 4
[resources.shelves]
singular = "shelf"
version = 2
description = "A shelf."
schema = { type = "object", properties = {} }
sample = {}
"##;

fn load_from(directory: &Path) -> Result<Vec<Declaration>, InvalidDeclaration> {
    let orders = Referable::of::<Order>("fleet", &ResourceDescriptor::of::<Order>(), Operation::ALL);
    load(directory, &BuiltIn { kinds: &[orders], events: &app::catalogue() })
}

#[test]
fn a_good_file_is_understood() {
    let declarations = load_from(garden(GOOD).path()).unwrap();
    let [pots, shelves] = &declarations[..] else { panic!("two resources") };
    assert_eq!((pots.kind.as_str(), pots.descriptor.plural, pots.version), ("garden/plant-pots", "plant_pots", 1));
    assert_eq!((shelves.descriptor.singular, shelves.version), ("shelf", 2));
    assert_eq!(pots.references["order"].prefix, "order");
    assert_eq!(pots.defaults["size"], 3);
    let names: Vec<_> = pots.event_types.iter().map(|event_type| event_type.name.as_str()).collect();
    assert_eq!(names, ["plant_pot.created", "plant_pot.updated", "plant_pot.deleted", "plant_pot.broken"]);
    assert_eq!(pots.event_types[3].meaning, "The state of a plant pot became broken, or the state of a plant pot became cracked.");
    let unfit = |members: serde_json::Value| pots.check(members.as_object().unwrap()).len();
    assert_eq!(unfit(json!({ "label": 5, "size": 1, "colour": "blue" })), 2);
    assert_eq!(unfit(json!({ "label": "a label of more than twenty letters", "size": 1 })), 1);
    assert_eq!(unfit(json!({ "label": "a", "size": 1, "meta": { "x": 1 } })), 0);
    let members = pots.members();
    let needed: Vec<_> = members.iter().filter(|member| member.required).map(|member| &*member.name).collect();
    assert_eq!(needed, ["label"], "a field with a default is not required");
    assert!(members.iter().any(|member| member.name == "label" && member.sentence == "What is written on it."));
}

/// The text in the valid file, its replacement, and the key that the error names.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("namespace = \"garden\"", "namespace = \"Garden\"", "namespace"),
    ("namespace = \"garden\"", "namespace = \"garden_2\"", "namespace"),
    ("namespace = \"garden\"", "namespace = \"fleet\"", "namespace"),
    ("namespace = \"garden\"", "namespace = 5", "namespace"),
    ("namespace = \"garden\"", "name = \"garden\"", "name"),
    ("namespace = \"garden\"", "", ""),
    ("[resources.shelves]", "[resources.Shelves]", "resources.Shelves"),
    ("[resources.shelves]", "[resources.meta]", "resources.meta"),
    ("version = 1", "version = \"one\"", "resources.plant-pots.version"),
    ("version = 1", "version = 0", "resources.plant-pots.version"),
    ("version = 1", "version = 1\nvariety = 1", "resources.plant-pots.variety"),
    ("description = \"A pot.\"", "", "resources.plant-pots"),
    ("singular = \"plant_pot\"", "singular = \"plant-pot\"", "resources.plant-pots.singular"),
    ("singular = \"plant_pot\"", "singular = \"order\"", "resources.plant-pots.singular"),
    ("singular = \"plant_pot\"", "singular = \"state\"", "resources.plant-pots.schema.properties.state"),
    ("singular = \"shelf\"", "singular = \"plant_pot\"", "resources.shelves.singular"),
    ("search = [\"label\"]", "search = [\"size\"]", "resources.plant-pots.search"),
    ("search = [\"label\"]", "search = [\"colour\"]", "resources.plant-pots.search"),
    ("filters = [\"label\"", "filters = [\"parts\"", "resources.plant-pots.filters"),
    ("filters = [\"label\"", "filters = [\"colour\"", "resources.plant-pots.filters"),
    ("maxLength = 20", "minLength = 1", "resources.plant-pots.filters"),
    ("garden/shelves", "garden/benches", "resources.plant-pots.references.shelf"),
    ("references = { shelf", "references = { bench", "resources.plant-pots.references.bench"),
    ("references = { shelf", "references = { size", "resources.plant-pots.references.size"),
    ("\"plant_pot.broken\", ", "\"pot.broken\", ", "resources.plant-pots.becomes.state.broken"),
    ("\"plant_pot.broken\", ", "\"plant_pot.updated\", ", "resources.plant-pots.becomes.state.broken"),
    ("\"plant_pot.broken\", ", "\"Broken!\", ", "resources.plant-pots.becomes.state.broken"),
    ("{ broken =", "{ lost =", "resources.plant-pots.becomes.state.lost"),
    ("becomes = { state", "becomes = { size", "resources.plant-pots.becomes.size"),
    ("type = \"object\"\nrequired", "type = \"array\"\nrequired", "resources.plant-pots.schema.type"),
    (
        "type = \"object\"\nrequired",
        "type = \"object\"\nadditionalProperties = true\nrequired",
        "resources.plant-pots.schema.additionalProperties",
    ),
    ("properties = {}", "title = \"A\"", "resources.shelves.schema.properties"),
    ("#/$defs/short", "#/$defs/long", "resources.plant-pots.schema.properties.label.$ref"),
    ("#/$defs/short", "http://127.0.0.1:1/x", "resources.plant-pots.schema.properties.label.$ref"),
    ("parts = { type = \"array\" }", "parts = { type = \"list\" }", "resources.plant-pots.schema"),
    ("parts = { type = \"array\" }", "parts = { pattern = \"(\" }", "resources.plant-pots.schema"),
    ("parts = { type = \"array\" }", "parts = true", "resources.plant-pots.schema.properties.parts"),
    ("parts = { type = \"array\" }", "id = { type = \"string\" }", "resources.plant-pots.schema.properties.id"),
    ("parts = { type = \"array\" }", "meta = { type = \"string\" }", "resources.plant-pots.schema.properties.meta"),
    ("parts = { type = \"array\" }", "Parts = { type = \"array\" }", "resources.plant-pots.schema.properties.Parts"),
    ("parts = { type = \"array\" }", "plant_pot = { type = \"object\" }", "resources.plant-pots.schema.properties.plant_pot"),
    ("default = 3", "default = \"3\"", "resources.plant-pots.schema.properties.size.default"),
    ("label = \"Blue\"", "label = 5", "resources.plant-pots.sample"),
    ("label = \"Blue\"", "", "resources.plant-pots.sample"),
    ("type = \"object\"\nrequired", "type = \"object\"\nmaxProperties = 3\nrequired", "resources.plant-pots.schema"),
];

#[test]
fn a_bad_file_is_refused_by_its_name_and_the_key() {
    for (good, bad, key) in MISTAKES {
        assert!(GOOD.contains(good), "{good}");
        let refused = load_from(garden(&GOOD.replacen(good, bad, 1)).path()).unwrap_err();
        assert_eq!(refused.key, *key, "{bad}: {refused}");
        assert!(refused.file.ends_with("garden.toml"), "{refused}");
        assert!(!refused.reason.is_empty() && refused.to_string().contains("garden.toml: "), "{refused}");
    }
    let torn = load_from(garden("namespace = ").path()).unwrap_err();
    assert!(torn.to_string().contains("garden.toml") && torn.to_string().contains("line 1"), "{torn}");
    let nowhere = Path::new("/nowhere/at/all");
    assert_eq!(load_from(nowhere).unwrap_err().file, nowhere);
}

#[test]
fn two_files_share_neither_a_namespace_nor_a_singular() {
    let directory = garden(GOOD);
    let other = directory.path().join("park.toml");
    fs::write(&other, GOOD).unwrap();
    let refused = load_from(directory.path()).unwrap_err();
    assert_eq!((refused.file.as_path(), refused.key.as_str()), (other.as_path(), "namespace"));
    fs::write(&other, GOOD.replace("namespace = \"garden\"", "namespace = \"park\"")).unwrap();
    let refused = load_from(directory.path()).unwrap_err();
    assert_eq!((refused.file.as_path(), refused.key.as_str()), (other.as_path(), "resources.plant-pots.singular"));
    // Files that are not `*.toml` are not declarations.
    fs::rename(&other, directory.path().join("park.toml.off")).unwrap();
    load_from(directory.path()).unwrap();
}

#[tokio::test]
async fn the_program_refuses_a_bad_file_at_start_and_the_doctor_finds_it() {
    let world = World::new().await;
    let database = ("database.url", world.database.as_str());
    let line = |report: &str| report.lines().find(|line| line.contains("extensions")).unwrap().to_owned();
    let shipped = line(&printed(&["doctor"], &[database]).await);
    assert!(shipped.starts_with("ok") && shipped.contains("inventory/warehouses") && shipped.contains("support/tickets"), "{shipped}");

    let directory = garden(&GOOD.replace("label = \"Blue\"", "label = 5"));
    let settings = [database, ("extensions.directory", directory.path().to_str().unwrap())];
    let reason = "garden.toml: resources.plant-pots.sample: label: value is not of type \"string\"";
    let doctor = portico(&["doctor"], &settings).output().await.unwrap();
    let found = line(&String::from_utf8(doctor.stdout).unwrap());
    assert!(!doctor.status.success() && found.starts_with("BAD") && found.contains(reason), "{found}");
    let said = refused(&["serve"], &settings).await;
    assert!(said.contains(reason), "{said}");
}

#[test]
fn schemas_are_of_draft_2020_12() {
    let pair = r#"parts = { type = "array", prefixItems = [{ type = "string" }, { type = "integer" }], items = false }"#;
    let declarations = load_from(garden(&GOOD.replace("parts = { type = \"array\" }", pair)).path()).unwrap();
    let unfit =
        |parts: serde_json::Value| declarations[0].check(json!({ "label": "a", "size": 1, "parts": parts }).as_object().unwrap()).len();
    // Draft 7 ignores `prefixItems`, and then refuses every item.
    assert_eq!((unfit(json!(["rim", 2])), unfit(json!([2, "rim"])), unfit(json!(["rim", 2, 3]))), (0, 2, 1));
}
