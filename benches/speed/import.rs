//! Moving in: how many customers of another service a minute takes, with the command as operators run it.

use std::fs;
use std::time::Instant;

use crate::figures::{Aim, Figures};
use crate::support::company::run;
use crate::support::service::Service;

/// Of a password of nobody: importing reads a hash and compares nothing.
const HASH: &str = "$2b$10$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e";

pub fn measure(figures: &mut Figures) {
    let customers = figures.many(100_000, 2_000);
    let service = Service::start(&[]);
    let path = service.directory().join("customers.ndjson");
    fs::write(&path, (0..customers).map(line).collect::<String>()).unwrap();
    let store = service.demo.store.to_string();
    let arguments = ["customer", "import", path.to_str().unwrap(), "--store", &store, "--vouch", "--json"];
    let begun = Instant::now();
    let report = run(&service, &arguments);
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(report["import"]["created"], customers, "{report}");
    figures.show("import, customers/min", customers as f64 / took * 60.0, Aim::AtLeast(100_000.0), &format!("{customers} in {took:.1} s"));

    let begun = Instant::now();
    assert_eq!(run(&service, &arguments)["import"]["known"], customers);
    let again = begun.elapsed().as_secs_f64();
    figures.show("import, the same file again", again / took, Aim::AtMost(1.0), &format!("{again:.1} s"));
}

fn line(number: usize) -> String {
    format!(
        "{{\"external_id\":\"{number}\",\"name\":\"Customer {number}\",\"email\":\"customer-{number}@example.com\",\"email_verified\":true,\
         \"phone\":\"+4915112{number:06}\",\"password_hash\":\"{HASH}\",\"created_at\":\"2020-01-01T00:00:00Z\",\
         \"providers\":[{{\"provider\":\"idp_a\",\"subject\":\"{number}\"}}],\"meta\":{{\"tier\":\"gold\"}}}}\n"
    )
}
