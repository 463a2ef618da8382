//! Dates as HTTP writes them, in all three of its forms.

use std::time::Duration;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The time since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or
/// `Sun Nov  6 08:49:37 1994`.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let parts: Vec<_> = text.split([' ', ',', '-']).filter(|part| !part.is_empty()).collect();
    let ([_, day, month, year, time, "GMT" | "UTC"] | [_, month, day, time, year]) =
        *parts.as_slice()
    else {
        return None;
    };
    let month = MONTHS.iter().position(|name| month.eq_ignore_ascii_case(name))? as u64 + 1;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year = match (year.len(), year.parse::<u64>().ok()?) {
        (2, year @ 70..) => 1900 + year,
        (2, year) => 2000 + year,
        (4, year) => year,
        _ => return None,
    };
    let days = days_since_1970(year, month, day)?;
    Some(Duration::from_secs(days * 86_400 + seconds(time)?))
}

fn seconds(time: &str) -> Option<u64> {
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = hour < 24 && minute < 60 && second <= 60 && parts.next().is_none();
    fits.then_some(hour * 3_600 + minute * 60 + second)
}

/// Years begin in March here, so that the leap day is the last of one.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month > 2 { year } else { year.checked_sub(1)? };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms_are_one_moment() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(Duration::from_secs(784_111_777)), "{text}");
        }
    }

    #[test]
    fn days_are_counted() {
        for (text, days) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 11_016),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 11_017),
            ("Mon, 01 Jan 2029 00:00:00 GMT", 21_550),
        ] {
            assert_eq!(parse(text), Some(Duration::from_secs(days * 86_400)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in ["", "120", "Sun, 06 Nov 1994", "Sun, 06 Foo 1994 08:49:37 GMT"] {
            assert_eq!(parse(text), None, "{text}");
        }
        for text in ["Sun, 06 Nov 1994 25:00:00 GMT", "Wed, 31 Dec 1969 23:59:59 GMT"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
