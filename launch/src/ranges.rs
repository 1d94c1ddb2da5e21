//! Lists of ranks in words: `0-3,7`.

/// Ascending numbers as ranges.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let n = rest.iter().zip(*first..).take_while(|(a, b)| *a == b).count();
        let comma = if text.is_empty() { "" } else { "," };
        text += &match n {
            1 => format!("{comma}{first}"),
            _ => format!("{comma}{first}-{}", rest[n - 1]),
        };
        rest = &rest[n..];
    }
    text
}

/// Reads [`ranges`] back; `None` unless the numbers ascend and are below `size`.
pub(crate) fn parse_ranges(text: &str, size: u32) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last >= size || numbers.last().is_some_and(|n| *n >= first) {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}
