//! Hashes by which a recording knows frames and programs again. They find mistakes; whoever wants to pass for
//! another frame or program can.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are hashed together.
const LINE_BYTES: usize = 64;

/// Mixes a word into a hash.
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Odd numbers without a pattern, one for each word of a line.
const SALTS: [u64; 8] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0x517c_c1b7_2722_0a95,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
];

/// A hash of at most a line, which says nothing about the number of its bytes.
#[inline]
fn hash(line: &[u8]) -> u64 {
    let mut words = [0; LINE_BYTES];
    let words = line.first_chunk().unwrap_or_else(|| {
        words[..line.len()].copy_from_slice(line);
        &words
    });
    let (words, _) = words.as_chunks::<8>();
    let word = |i: usize| u64::from_le_bytes(words[i]) ^ SALTS[i];
    // Four products that do not wait for each other.
    let product = |i: usize| u128::from(word(i)) * u128::from(word(i + 1));
    [0, 2, 4, 6].into_iter().map(product).fold(0, |all, p| all ^ (p as u64) ^ (p >> 64) as u64)
}

/// A hash of many bytes.
fn hash_of_lines(bytes: &[u8]) -> u64 {
    // Lines do not depend on each other, so the processor hashes several at a time.
    let all = bytes.chunks(LINE_BYTES).fold(0, |all, line| mix(all, hash(line)));
    all ^ all >> 32
}

/// A hash of a frame.
pub fn hash_of_frame(frame: &[u8]) -> u32 {
    hash_of_lines(frame) as u32
}

/// A check of what a frame begins with: one in 256 others has the same.
pub fn check_of_frame(frame: &[u8]) -> u8 {
    (mix(hash(&frame[..frame.len().min(LINE_BYTES)]), frame.len() as u64) >> 56) as u8
}

/// A hash of an executable: which program it is. Only what is loaded of it counts: symbols and lines for
/// debuggers are often ten times as much.
///
/// # Errors
/// The file cannot be read.
pub fn hash_of_program(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let mut buffer = vec![0; 256 << 10];
    let mut all = 0;
    for (mut at, end) in loaded_parts(&file)? {
        while at < end {
            let room = buffer.len().min((end - at) as usize);
            let n = file.read_at(&mut buffer[..room], at)?;
            if n == 0 {
                break;
            }
            all = mix(all, hash_of_lines(&buffer[..n]));
            at += n as u64;
        }
        all = mix(all, at);
    }
    Ok(all)
}

/// Bytes of the header of an ELF file.
const ELF_HEADER_BYTES: usize = 64;
/// Bytes of a row of its table of segments.
const ELF_ROW_BYTES: usize = 56;
/// The kind of a segment that is loaded.
const ELF_LOADED: u64 = 1;

/// Where the loaded segments of an ELF file lie in it; all of a file of another kind.
fn loaded_parts(file: &File) -> io::Result<Vec<(u64, u64)>> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let all = vec![(0, file.metadata()?.len())];
    let mut header = [0; ELF_HEADER_BYTES];
    // 64 bits, little endian.
    if file.read_exact_at(&mut header, 0).is_err() || &header[..6] != b"\x7fELF\x02\x01" {
        return Ok(all);
    }
    let (table, rows) = (number(&header[32..40]), number(&header[56..58]) as usize);
    let mut bytes = vec![0; rows * ELF_ROW_BYTES];
    if number(&header[54..56]) != ELF_ROW_BYTES as u64 || file.read_exact_at(&mut bytes, table).is_err() {
        return Ok(all);
    }
    let part = |row: &[u8]| {
        let (at, len) = (number(&row[8..16]), number(&row[32..40]));
        (number(&row[..4]) == ELF_LOADED).then_some((at, at.saturating_add(len)))
    };
    Ok(bytes.chunks_exact(ELF_ROW_BYTES).filter_map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program does depends on what is loaded of it.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn the_hash_of_a_program_is_that_of_its_loaded_parts() {
        let path = std::env::temp_dir().join(format!("gasnet-fingerprint-{}", std::process::id()));
        let mut program = std::fs::read("/proc/self/exe").unwrap();
        let before = hash_of_program(Path::new("/proc/self/exe")).unwrap();
        program.extend_from_slice(b"more for debuggers");
        std::fs::write(&path, &program).unwrap();
        assert_eq!(hash_of_program(&path).unwrap(), before);
        // The last byte of the code and data that the file has.
        let (at, end) = *loaded_parts(&File::open(&path).unwrap()).unwrap().last().unwrap();
        assert!(at < end && end < program.len() as u64);
        program[end as usize - 1] ^= 1;
        std::fs::write(&path, &program).unwrap();
        assert_ne!(hash_of_program(&path).unwrap(), before);
        // A file of another kind.
        std::fs::write(&path, "#!/bin/sh").unwrap();
        let script = hash_of_program(&path).unwrap();
        std::fs::write(&path, "#!/bin/csh").unwrap();
        assert_ne!(hash_of_program(&path).unwrap(), script);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn every_byte_changes_the_hash_of_a_frame() {
        let frame: Vec<u8> = (0..300u32).map(|i| i as u8).collect();
        let hash = hash_of_frame(&frame);
        for at in 0..frame.len() {
            let mut other = frame.clone();
            other[at] ^= 0x10;
            assert_ne!(hash_of_frame(&other), hash, "byte {at}");
        }
        assert_ne!(hash_of_frame(&frame[..64]), hash_of_frame(&frame[..65]));
    }
}
