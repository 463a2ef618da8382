//! Converts between milliseconds since the Unix epoch and RFC 3339 text.

/// Formats a time as RFC 3339, in UTC.
pub fn rfc3339(at_ms: u64) -> String {
    let (seconds, millis) = (at_ms / 1000, at_ms % 1000);
    let (day, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, date) = civil(day);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Parses an RFC 3339 time into milliseconds since the Unix epoch; earlier times become 0.
pub fn parse(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let day = days(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("", rest),
    };
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let offset = match zone.as_bytes().first()? {
        b'Z' | b'z' => 0,
        sign => {
            let hours: i64 = zone.get(1..3)?.parse().ok()?;
            let minutes: i64 = zone.get(4..6)?.parse().ok()?;
            let offset = hours * 3600 + minutes * 60;
            if *sign == b'-' { -offset } else { offset }
        }
    };
    let at = (day * 86_400 + seconds - offset) * 1000 + millis;
    Some(u64::try_from(at).unwrap_or(0))
}

/// The date of a day counted from the Unix epoch. Years start in March here, so that a leap day
/// comes last.
fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, after) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + after, month, date)
}

/// The day number of a date, counted from the Unix epoch.
fn days(year: i64, month: i64, date: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + date - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        let check = |at_ms: u64, text: &str| {
            assert_eq!(rfc3339(at_ms), text);
            assert_eq!(parse(text), Some(at_ms));
        };
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_794_805_200_123, "2026-11-16T05:00:00.123Z");
        assert_eq!(parse("2026-11-16T06:30:00+01:30"), parse("2026-11-16T05:00:00Z"));
        assert_eq!(parse("1969-12-31T23:59:59Z"), Some(0));
        assert_eq!(parse("soon"), None);
    }
}
