//! A disk with a volatile write cache that remembers every write and every flush it was asked for.
//!
//! It is a single file served over FUSE, with the kernel's loop driver on top: file system → loop
//! device → this file. What the file system still holds in its page cache never comes here, as on
//! a real machine. The loop driver passes each write on, and each cache flush as an fsync; both are
//! served one at a time and noted in that order. So the state of the medium at any moment can be
//! built afterwards, exactly: what was written before the last flush is there, and what came since
//! is there or not, block by block.
//!
//! The protocol is the part of the kernel's `linux/fuse.h` (version 7.31) that one file needs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::errno::Errno;

/// What a disk writes whole or not at all, in bytes.
pub(crate) const BLOCK: usize = 4096;
/// The longest single write, in bytes.
const WRITE_MAX: u32 = 128 * 1024;

/// What the disk was asked for.
#[derive(Debug)]
pub(crate) enum Asked {
    Write { offset: usize, data: Vec<u8> },
    Flush,
}

#[derive(Debug)]
struct Medium {
    image: Vec<u8>,
    log: Vec<Asked>,
}

/// A disk in use, as a file that a loop device can be put on.
#[derive(Debug)]
pub(crate) struct Disk {
    medium: Arc<Mutex<Medium>>,
    path: PathBuf,
    server: Option<JoinHandle<()>>,
    /// Dropped when the mounting fails: the server ends then. Later the unmounting ends it.
    _stop: Sender<()>,
}

impl Disk {
    /// Mounts a file over this one that holds this image. The error says why it cannot be done on this machine.
    pub(crate) fn serve(path: &Path, image: Vec<u8>) -> Result<Self, String> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").map_err(|error| format!("/dev/fuse: {error}"))?;
        fs::write(path, "").map_err(|error| format!("{}: {error}", path.display()))?;
        let medium = Arc::new(Mutex::new(Medium { image, log: Vec::new() }));
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "fuse", "-o", "fd=0,rootmode=100600,user_id=0,group_id=0", "proof-disk"]).arg(path);
        mount
            .stdin(Stdio::from(device.try_clone().map_err(|error| error.to_string())?))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mount = mount.spawn().map_err(|error| format!("mount: {error}"))?;
        // The server runs before mount is done: mount may look at what it has mounted.
        let (theirs, (stop, stopped)) = (Arc::clone(&medium), mpsc::channel());
        let server = std::thread::spawn(move || serve(&device, &theirs, &stopped));
        let output = mount.wait_with_output().map_err(|error| format!("mount: {error}"))?;
        if !output.status.success() {
            drop(stop);
            drop(server.join());
            return Err(format!("a FUSE file cannot be mounted: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        Ok(Self { medium, path: path.to_owned(), server: Some(server), _stop: stop })
    }

    /// How much it was asked for until now. What was answered before this call is in the log before this position.
    pub(crate) fn position(&self) -> usize {
        lock(&self.medium).log.len()
    }

    /// Takes it out of use, and tells what it was asked for.
    pub(crate) fn end(mut self) -> Vec<Asked> {
        self.unmount();
        std::mem::take(&mut lock(&self.medium).log)
    }

    fn unmount(&mut self) {
        if let Some(server) = self.server.take() {
            // A loop device lets go of its file a moment after it was freed.
            tests::eventually("the disk can be unmounted", || {
                Command::new("umount").arg(&self.path).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
            });
            drop(server.join());
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.unmount();
    }
}

fn lock(medium: &Mutex<Medium>) -> MutexGuard<'_, Medium> {
    medium.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers until the file is unmounted.
fn serve(device: &File, medium: &Mutex<Medium>, stopped: &Receiver<()>) {
    let mut request = vec![0; usize::try_from(WRITE_MAX).unwrap_or_default() + BLOCK];
    loop {
        let length = match (&mut &*device).read(&mut request) {
            Ok(length) => length,
            // Not mounted yet, or never.
            Err(error) if error.raw_os_error() == Some(Errno::EPERM as i32) => {
                match stopped.recv_timeout(Duration::from_millis(1)) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    _ => continue,
                }
            }
            Err(error) if [Errno::EINTR as i32, Errno::ENOENT as i32].contains(&error.raw_os_error().unwrap_or_default()) => {
                continue;
            }
            Err(_) => return,
        };
        let request = &request[..length];
        if let Some(answer) = answer(request, medium) {
            // An answer that nobody waits for any more is refused.
            drop(reply(device, number(request, 8), answer));
        }
    }
}

fn reply(mut device: &File, unique: u64, answer: Result<Vec<u8>, Errno>) -> io::Result<()> {
    let (error, body) = match answer {
        Ok(body) => (0, body),
        Err(errno) => (-(errno as i32), Vec::new()),
    };
    let length = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
    let message = [&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes(), &body].concat();
    device.write_all(&message)
}

/// The answer to one request; none to those that expect none.
fn answer(request: &[u8], medium: &Mutex<Medium>) -> Option<Result<Vec<u8>, Errno>> {
    /// The length of a request's head, and of what stands before the data of a read and a write.
    const HEAD: usize = 40;
    let place = || (usize::try_from(number(request, HEAD + 8)).ok(), usize::try_from(word(request, HEAD + 16)).ok());
    Some(match word(request, 4) {
        // FORGET, INTERRUPT, BATCH_FORGET
        2 | 36 | 42 => return None,
        // GETATTR, SETATTR
        3 | 4 => Ok(attributes(lock(medium).image.len())),
        // OPEN, and every read and write comes here: nothing of it is cached between the loop device and us.
        14 => Ok([&0u64.to_ne_bytes()[..], &1u32.to_ne_bytes(), &0u32.to_ne_bytes()].concat()),
        // READ
        15 => match place() {
            (Some(offset), Some(length)) => {
                let image = &lock(medium).image;
                let start = offset.min(image.len());
                Ok(image[start..offset.saturating_add(length).min(image.len())].to_vec())
            }
            _ => Err(Errno::EINVAL),
        },
        // WRITE
        16 => {
            let (Some(offset), data) = (place().0, request[2 * HEAD..].to_vec()) else { return Some(Err(Errno::EINVAL)) };
            let mut medium = lock(medium);
            let end = offset.saturating_add(data.len());
            if end > medium.image.len() {
                return Some(Err(Errno::ENOSPC));
            }
            medium.image[offset..end].copy_from_slice(&data);
            let length = u32::try_from(data.len()).unwrap_or(0);
            medium.log.push(Asked::Write { offset, data });
            Ok([length.to_ne_bytes(), [0; 4]].concat())
        }
        // STATFS
        17 => Ok(vec![0; 80]),
        // FSYNC: the flush of the cache
        20 => {
            lock(medium).log.push(Asked::Flush);
            Ok(Vec::new())
        }
        // RELEASE, FLUSH (of a closed descriptor, which is none of a cache), DESTROY
        18 | 25 | 38 => Ok(Vec::new()),
        // INIT
        26 => Ok(greeting()),
        _ => Err(Errno::ENOSYS),
    })
}

/// `fuse_init_out`: our version, with large writes.
fn greeting() -> Vec<u8> {
    const BIG_WRITES: u32 = 1 << 5;
    const MAX_PAGES: u32 = 1 << 22;
    let mut out = Vec::new();
    // the version, max_readahead, flags
    for word in [7, 31, 0, BIG_WRITES | MAX_PAGES] {
        out.extend(word.to_ne_bytes());
    }
    // max_background, congestion_threshold
    for half in [16u16, 12] {
        out.extend(half.to_ne_bytes());
    }
    // max_write, time_gran
    for word in [WRITE_MAX, 1] {
        out.extend(word.to_ne_bytes());
    }
    // max_pages
    out.extend(u16::try_from(WRITE_MAX / 4096).unwrap_or(1).to_ne_bytes());
    out.resize(64, 0);
    out
}

/// `fuse_attr_out`: a regular file of this size.
fn attributes(size: usize) -> Vec<u8> {
    let size = u64::try_from(size).unwrap_or_default();
    let mut out = vec![0; 16];
    for long in [1, size, size / 512, 0, 0, 0] {
        out.extend(long.to_ne_bytes());
    }
    // the nanoseconds of three times, mode, links, uid, gid, rdev, block size, flags
    for word in [0u32, 0, 0, 0o100_600, 1, 0, 0, 0, 4096, 0] {
        out.extend(word.to_ne_bytes());
    }
    out
}

fn word(request: &[u8], at: usize) -> u32 {
    request.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn number(request: &[u8], at: usize) -> u64 {
    request.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}
