//! The least that a program of ours can do: the system calls alone, for `make bench` to compare with.
//!
//! ```text
//! floor read FOLDER       lists, opens, reads and closes each *.json
//! floor replace FILE      reads it, writes it beside itself, fsync, rename, fsync of the folder
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;

fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["read", folder] => read(Path::new(folder))?,
        ["replace", file] => replace(Path::new(file))?,
        _ => return Ok(ExitCode::from(64)),
    }
    Ok(ExitCode::SUCCESS)
}

fn read(folder: &Path) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    let mut total = 0;
    // By the folder's descriptor: to walk the whole path for each file is no part of the least.
    let opened = File::open(folder)?;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name.as_encoded_bytes().ends_with(b".json") {
            let file = openat(&opened, name.as_os_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
            total += File::from(file).read(&mut buffer)?;
        }
    }
    writeln!(io::stdout(), "{total} bytes")
}

fn replace(file: &Path) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let next = file.with_extension(format!("{}.tmp", std::process::id()));
    let mut written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    written.write_all(&bytes)?;
    written.sync_all()?;
    fs::rename(&next, file)?;
    // The parent of a bare name is the empty path.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
