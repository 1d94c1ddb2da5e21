//! Just enough of ELF (64 bits, little endian) to read one section by name.

fn int(b: &[u8], at: usize, n: usize) -> Option<u64> {
    let s = b.get(at..at.checked_add(n)?)?;
    Some(s.iter().rev().fold(0, |a, &x| a << 8 | u64::from(x)))
}

/// The contents of section `name`; `None` if this is no such file or has no such section.
pub fn section<'a>(b: &'a [u8], name: &str) -> Option<&'a [u8]> {
    if b.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let at = |v: u64| usize::try_from(v).ok();
    let table = at(int(b, 0x28, 8)?)?;
    let entry = at(int(b, 0x3a, 2)?)?;
    let mut count = int(b, 0x3c, 2)?;
    let mut strings = int(b, 0x3e, 2)?;
    if count == 0 {
        count = int(b, table.checked_add(32)?, 8)?;
    }
    if strings == 0xffff {
        strings = int(b, table.checked_add(40)?, 4)?;
    }
    let header = |i: u64| table.checked_add(at(i)?.checked_mul(entry)?);
    let range = |i: u64| {
        let h = header(i)?;
        let off = at(int(b, h.checked_add(24)?, 8)?)?;
        let len = at(int(b, h.checked_add(32)?, 8)?)?;
        b.get(off..off.checked_add(len)?)
    };
    let names = range(strings)?;
    for i in 1..count {
        let n = at(int(b, header(i)?, 4)?)?;
        let s = names.get(n..)?;
        if s.starts_with(name.as_bytes()) && s.get(name.len()) == Some(&0) {
            return range(i);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn reads_itself_and_survives_garbage() {
        let own = std::fs::read(std::env::current_exe().expect("own path")).expect("own file");
        let s = super::section(&own, ".shstrtab").expect("every ELF file has section names");
        assert!(s.windows(9).any(|w| w == b".shstrtab"));
        assert!(super::section(&own, ".no_such").is_none());
        for n in [0, 5, 6, 64, 100, 1000] {
            let _ = super::section(&own[..n], ".text");
        }
        let mut bad = own[..64].to_vec();
        bad.extend([0xff; 200]);
        bad[0x28..0x30].fill(0xff);
        assert!(super::section(&bad, ".text").is_none());
    }
}
