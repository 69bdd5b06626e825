//! A file system with little room, in memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use portico::dev::temporary::TemporaryDirectory;

/// Room for a database and a few thousand rows.
const SIZE: &str = "size=96m,mode=0755";

/// A small disk, mounted as long as this lives.
pub struct SmallDisk(TemporaryDirectory);

impl SmallDisk {
    /// Mounts it; `None` if that is not allowed here.
    pub fn mount() -> Option<Self> {
        let directory = TemporaryDirectory::make("portico-it-small-disk").unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(directory.path()).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| Self(directory))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all the room that is left.
    pub fn fill(&self) {
        let mut filler = File::create(self.path().join("filler")).unwrap();
        while filler.write_all(&[0; 4096]).is_ok() {}
    }

    pub fn make_room(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}
