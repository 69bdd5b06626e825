//! Secrets that are handed over in files: `PORTICO_…__FILE`.

use std::fs;

use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::crypto::ApplicationKey;

use crate::support::World;
use crate::support::program::{printed, refused};
use crate::support::sealed_shop::new_key;

#[tokio::test]
async fn secrets_are_read_from_files() {
    let world = World::new().await;
    let _subscriber = world.subscriber("shop.test").await;
    let directory = TemporaryDirectory::make("portico-settings").unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (new, another) = (new_key(), new_key());
    let key = file("key", &format!("{new}\n"));
    let previous = file("previous", &format!("{another}\n{}\n", world.application_key_setting));
    let database = file("database", &format!("{}\r\n", world.database));
    let settings = [
        ("application_key", ""),
        ("application_key__file", key.as_str()),
        ("previous_application_keys__file", &previous),
        ("database.url__file", &database),
        ("socket.key__file", ""),
    ];
    let fingerprint = ApplicationKey::parse(&new.as_str().into()).unwrap().fingerprint();
    let rotated = printed(&["keys", "rotate"], &settings).await;
    assert!(rotated.ends_with(&format!("Everything is sealed under the application key {fingerprint}.\n")), "{rotated}");
}

#[tokio::test]
async fn a_file_that_cannot_be_meant_is_refused_with_words() {
    let directory = TemporaryDirectory::make("portico-settings").unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let secret = file("secret", b"s3cret");
    for (path, reason) in [
        (file("empty", b"\n"), "which is empty"),
        (file("large", &[b'x'; 64 * 1024 + 1]), "which has more than 64 KiB"),
        (file("image", &[0xff, 0xd8]), "which is not text in UTF-8"),
        ("/nowhere".to_owned(), "which cannot be read: No such file or directory"),
        ("/".to_owned(), "which cannot be read: Is a directory"),
    ] {
        let said = refused(&["doctor"], &[("socket.key__file", &path)]).await;
        assert!(said.contains(&format!("PORTICO_SOCKET__KEY__FILE names {path}, {reason}")), "{said}");
    }
    let said = refused(&["doctor"], &[("socket.key", "s3cret"), ("socket.key__file", &secret)]).await;
    assert!(said.contains("PORTICO_SOCKET__KEY and PORTICO_SOCKET__KEY__FILE are both set; keep one of them"), "{said}");
    assert!(!said.contains("s3cret"), "no secret is shown");
}
