//! Arrays in files, one for each rank that has saved.
//!
//! A file is a head of ten words, the sizes of the blocks if the layout is [`Layout::Custom`], the rank's
//! part, and a checksum over all of that. The head says of which save it is one, so files of different saves
//! are told apart. Files are written under another name, and get theirs when all are complete on their disks.

use crate::args::Plain;
use crate::array::Array;
use crate::layout::{Layout, Map};
use crate::meeting::Meeting;
use crate::world::World;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// "PGASARR" and the number of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"PGASARR1");
/// Words of the head: mark, save, bytes of an element, ranks, rank, block, length, sizes (0 or ranks), and
/// two that are 0.
const HEAD: usize = 10;

/// Adds bytes to a checksum.
fn sum(mut sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
    for byte in rest {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
    sum
}

fn name(path: &Path, rank: u64, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{rank}{end}"));
    name.into()
}

fn invalid(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{}: {why}", path.display()))
}

/// The same for all ranks: an error if one of them has one.
fn agree<T>(world: World, what: &str, mine: Result<T>) -> Result<T> {
    world.meet(Meeting::File, 0);
    let first = world.reduce(if mine.is_err() { world.rank() } else { u32::MAX }, u32::min);
    match mine {
        Ok(_) if first != u32::MAX => Err(Error::other(format!("rank {first} could not {what}"))),
        mine => mine,
    }
}

/// A file, as words of its head, sizes and part.
struct Saved {
    head: [u64; HEAD],
    sizes: Vec<usize>,
    bytes: Vec<u8>,
}

impl Saved {
    fn read(path: &Path, rank: u64) -> Result<Saved> {
        let path = &name(path, rank, "");
        let bytes = fs::read(path).map_err(|e| Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        let torn =
            || invalid(path, "the file is torn: it is shorter or longer than what was saved, or damaged");
        let (body, check) = bytes.split_at_checked(bytes.len().wrapping_sub(8)).ok_or_else(torn)?;
        if check != sum(0, body).to_le_bytes() {
            return Err(torn());
        }
        let (head, rest) = body.split_at_checked(8 * HEAD).ok_or_else(torn)?;
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        let head: [u64; HEAD] = words(head).try_into().unwrap_or([0; HEAD]);
        let [magic, _, _, ranks, own, block, _, sizes, ..] = head;
        if magic != MAGIC
            || own != rank
            || block == 0
            || ranks == 0
            || ranks > u64::from(u32::MAX)
            || (sizes != 0 && sizes != ranks)
        {
            return Err(invalid(path, "the file is none of an array"));
        }
        let (sizes, part) = rest.split_at_checked(8 * sizes as usize).ok_or_else(torn)?;
        let sizes = words(sizes).into_iter().map(|size| size as usize).collect();
        Ok(Saved { head, sizes, bytes: part.to_vec() })
    }

    /// How the elements are spread over the files.
    fn map(&self) -> Map {
        let [_, _, _, ranks, _, block, len, ..] = self.head;
        let layout = if self.sizes.is_empty() {
            Layout::BlockCyclic(block as usize)
        } else {
            Layout::Custom(&self.sizes)
        };
        Map::new(len as usize, ranks as u32, layout)
    }
}

impl<T: Plain> Array<T> {
    /// Saves the array, with one file for each rank: `path.0`, `path.1` and so on. Older files of these
    /// names are replaced only after all ranks have written theirs. [`World::load`] reads them back.
    ///
    /// # Collective
    ///
    /// # Errors
    /// On all ranks, when one could not write; the old files are there still.
    ///
    /// # Panics
    /// As [`Array::read`].
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let (world, path) = (self.world, path.as_ref());
        let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        let save = world.broadcast(0, now ^ u64::from(std::process::id()) << 40);
        let (me, new) = (u64::from(world.rank()), name(path, world.rank().into(), ".new"));
        let ([block, len], sizes) = self.map.describe();
        let sizes = sizes.unwrap_or_default();
        let size = size_of::<T>() as u64;
        let head = [MAGIC, save, size, world.size().into(), me, block, len, sizes.len() as u64, 0, 0];
        let head: Vec<u8> = head.iter().chain(&sizes).flat_map(|word| word.to_le_bytes()).collect();
        let write = |part: &[u8]| -> Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(&head)?;
            file.write_all(part)?;
            file.write_all(&sum(sum(0, &head), part).to_le_bytes())?;
            file.sync_all()
        };
        let written = self.read(|array| write(bytemuck::cast_slice(array.local())));
        let written = written.map_err(|e| Error::new(e.kind(), format!("{}: {e}", new.display())));
        if let Err(e) = agree(world, "save its part", written) {
            let _ = fs::remove_file(&new);
            return Err(e);
        }
        agree(world, "name its file", fs::rename(&new, name(path, me, "")))
    }
}

impl World {
    /// Makes an array of what [`Array::save`] has saved, with any layout, by any number of ranks, which all
    /// can read the files.
    ///
    /// # Collective
    ///
    /// # Errors
    /// On all ranks, when a file is missing, is torn or of another save than the others, or its elements are
    /// of another size.
    ///
    /// # Panics
    /// As [`World::array`].
    pub fn load<T: Plain>(self, path: impl AsRef<Path>, layout: Layout<'_>) -> Result<Array<T>> {
        let path = path.as_ref();
        let first =
            if self.rank() == 0 { Saved::read(path, 0).map(|first| first.head) } else { Ok([0; HEAD]) };
        let of_first = self.broadcast(0, agree(self, "read the first file", first)?);
        let [_, save, size, files, _, _, len, ..] = of_first;
        let check = |saved: Saved| {
            let [_, of, ..] = saved.head;
            let path = name(path, saved.head[4], "");
            let mut like_first = saved.head;
            like_first[4] = 0;
            if of != save || like_first != of_first {
                return Err(invalid(
                    &path,
                    "the file is of another save than the first one: some of the files are old",
                ));
            }
            if size != size_of::<T>() as u64 {
                return Err(invalid(
                    &path,
                    &format!("its elements have {size} bytes, not {}", size_of::<T>()),
                ));
            }
            let map = saved.map();
            if map.part(saved.head[4] as u32) * size_of::<T>() != saved.bytes.len() {
                return Err(invalid(&path, "the part has not as many elements as it should"));
            }
            Ok((map, saved))
        };
        let mine = (u64::from(self.rank())..files).step_by(self.size() as usize);
        let mine: Result<Vec<_>> = mine.map(|rank| Saved::read(path, rank).and_then(check)).collect();
        let mine = agree(self, "read its files", mine)?;
        let mut array = self.array::<T>(len as usize, layout);
        array.exchange(|array| {
            for (map, saved) in mine {
                let rank = saved.head[4] as u32;
                let mut at = 0;
                while at < map.part(rank) {
                    let i = map.index(rank, at);
                    let n = map.run(i).min(map.part(rank) - at);
                    let bytes = &saved.bytes[at * size_of::<T>()..(at + n) * size_of::<T>()];
                    let values: Vec<T> =
                        bytes.chunks_exact(size_of::<T>().max(1)).map(bytemuck::pod_read_unaligned).collect();
                    array.put_slice(i, &values);
                    at += n;
                }
            }
        });
        Ok(array)
    }
}
