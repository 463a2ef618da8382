use std::time::Instant;
#[test]
fn dump() {
    let files = std::env::var("DOCS").unwrap();
    for file in files.split_whitespace() {
        let bytes = std::fs::read(file).unwrap();
        let api = milepost_catalog::openapi::Api::new(
            milepost_catalog::document::Document::read(&bytes).unwrap(),
        )
        .unwrap();
        let rows = milepost_catalog::import::Inspection::of(&api)
            .into_rows(&milepost_catalog::naming::Kept::new());
        let mut best = std::time::Duration::MAX;
        let mut out = Vec::new();
        for _ in 0..(if cfg!(debug_assertions) { 1 } else { 20 }) {
            let start = Instant::now();
            out = milepost_catalog::provider::infer(&api, &rows);
            best = best.min(start.elapsed());
        }
        let pp: usize = rows
            .iter()
            .map(|r| {
                r.parameters
                    .iter()
                    .filter(|p| p.location == milepost_catalog::command::Location::Path)
                    .count()
            })
            .sum();
        let served: usize = out.iter().map(|p| p.serves.len()).sum();
        let sp: usize = out
            .iter()
            .map(|p| {
                p.serves
                    .iter()
                    .filter(|p| p.location == milepost_catalog::command::Location::Path)
                    .count()
            })
            .sum();
        let name = file.rsplit('/').next().unwrap();
        println!(
            "## {name}: rows {} providers {} served {} path {}/{} in {:?}",
            rows.len(),
            out.len(),
            served,
            sp,
            pp,
            best
        );
        for p in &out {
            let list = rows.iter().find(|r| r.name == p.command).unwrap();
            println!(
                "{} | {} | {} at {:?} value {} label {:?} binds {:?} {:?}",
                list.path,
                p.command,
                p.serves.len(),
                p.list_at,
                p.value_field,
                p.label_field,
                p.binds.iter().map(|b| format!("{}<-{}", b.parameter, b.from)).collect::<Vec<_>>(),
                p.confidence
            );
            let mut seen = Vec::new();
            for s in &p.serves {
                let row = rows.iter().find(|r| r.name == s.command).unwrap();
                let line = format!(
                    "    {} {} {:?} {}",
                    row.method.name(),
                    row.path,
                    s.location,
                    s.parameter
                );
                if seen.len() < 3 || std::env::var("FULL").is_ok() {
                    println!("{line}");
                    seen.push(line);
                }
            }
        }
        if std::env::var("MISS").is_ok() {
            for row in &rows {
                for p in &row.parameters {
                    if p.location == milepost_catalog::command::Location::Path
                        && !out.iter().any(|o| {
                            o.serves.iter().any(|s| s.command == row.name && s.parameter == p.name)
                        })
                    {
                        println!("MISS {} {} {}", row.method.name(), row.path, p.name);
                    }
                }
            }
        }
    }
}
