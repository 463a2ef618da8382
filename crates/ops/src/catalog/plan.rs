//! What an import would do, determined before anything is written.

use milepost_catalog::finding::{DocumentFinding, DocumentRule};
use milepost_catalog::import::prefixes;
use milepost_catalog::openapi::Api;
use milepost_catalog::text;
use milepost_model::id::CatalogId;
use milepost_model::problem::Argument;
use milepost_store::catalogs::{BaseUrl, CatalogRecord, CatalogSource, GivenBy};
use milepost_syntax::source::Format;

use super::import;
use super::inspected_document::InspectedDocument;
use crate::catalog_cache::CommandTable;
use crate::prelude::*;
use crate::run::person;
use crate::source::{DocumentSource, SourceFailure};

/// An import that can be carried out.
#[derive(Debug)]
pub(crate) struct ImportPlan {
    pub(crate) record: CatalogRecord,
    pub(crate) api: Api,
    pub(crate) table: CommandTable,
    /// The original document, if it is not the JSON in `api`.
    written: Option<String>,
    pub(crate) warnings: Vec<DocumentFinding>,
    pub(crate) operation_count: usize,
    /// Set if a catalog with credentials gets another address.
    pub(crate) moved: Option<MovedApi>,
}

/// A catalog with credentials whose document gives the API another address.
#[derive(Debug)]
pub(crate) struct MovedApi {
    then: String,
    now: String,
    /// Whether the credentials are kept, because a person gave the new address.
    keeps_credentials: bool,
}

impl MovedApi {
    /// Fails unless a person moves the API. What they connected is disconnected only if they say
    /// so.
    pub(crate) fn admit(&self, call: &dyn Caller, asked: &import::Request) -> Result<()> {
        let MovedApi { then, now, keeps_credentials } = self;
        let loss = format!("the document moves the API from {then} to {now}");
        let message = format!("{loss}, and a person connected its credentials");
        person::only_a_person(call, &message, asked.invocation())?;
        if *keeps_credentials {
            return Ok(());
        }
        let question = format!("{loss}, which removes its credentials; continue?");
        let (message, hint) = match call.ask(&question) {
            Some(true) => return Ok(()),
            Some(false) => ("not confirmed: nothing was changed".to_owned(), Hint::text("to keep")),
            None => (format!("{loss}, which would remove its credentials"), Hint::text("to keep")),
        };
        let hint = hint
            .then(" the credentials, give the address yourself: ")
            .given("base_url", then.as_str())
            .then(" or ")
            .given("base_url", now.as_str());
        Err(Problem::new(Code::ConfirmationRequired, message, hint))
    }

    fn finding(&self) -> DocumentFinding {
        let MovedApi { then, now, keeps_credentials } = self;
        let message = match keeps_credentials {
            true => format!(
                "this catalog's credentials will be sent to {now} from now on, instead of {then}"
            ),
            false => format!(
                "the document moves the API from {then} to {now}: its credentials were removed; \
                 set them again if this is intended"
            ),
        };
        let path = "/servers".to_owned();
        DocumentFinding { path, rule: DocumentRule::CREDENTIALS, message }
    }
}

impl ImportPlan {
    /// Reads, checks and names everything; writes nothing.
    pub(crate) async fn of(
        asked: &import::Request,
        reader: &Reader,
        call: &dyn Caller,
    ) -> Result<ImportPlan> {
        let document = DocumentSource {
            source: &asked.source,
            source_type: asked.source_type,
            allow_refs: &asked.allow_refs,
            refs_root: asked.refs_root.as_deref(),
        };
        let base_url = asked.base_url.as_deref();
        let look = InspectedDocument::at(&document, base_url, reader, call).await;
        let look = look.map_err(|unread| match unread {
            SourceFailure::Problem(problem) => problem,
            SourceFailure::NotADocument(finding) => invalid(&asked.source, &[finding]),
        })?;
        let InspectedDocument { api, inspection, base, written, origin, mut warnings, violations } =
            look;
        if !violations.is_empty() {
            return Err(invalid(&asked.source, &violations));
        }
        let id = asked.id(&api)?;
        let format = if written.is_some() { Format::Yaml } else { Format::Json };
        let mut record = asked.record(&api, id, origin, format);
        record.by_agent = call.kind() == CallerKind::Agent;
        record.base_url = base.map(|url| BaseUrl {
            url: url.to_string(),
            by: match call.kind() {
                CallerKind::Person if asked.base_url.is_some() => GivenBy::User,
                // In a tool call, the URL comes from a model, not from a person.
                CallerKind::Person | CallerKind::Agent => GivenBy::Document,
            },
        });
        let moved = carry_over(&mut record, asked, reader)?;
        warnings.extend(moved.as_ref().map(MovedApi::finding));
        call.progress(&format!("naming {} commands", inspection.command_count()));
        let operation_count = inspection.operation_count;
        let table = CommandTable::of(&api, inspection, &record.names);
        let named = table.rows.iter().map(|row| (row.key(), row.name.clone()));
        record.names.extend(named);
        Ok(ImportPlan { record, api, table, written, warnings, operation_count, moved })
    }

    /// The document as it is stored: the original, unless other files were merged into it.
    pub(crate) fn document(&self) -> &[u8] {
        self.written.as_deref().unwrap_or_else(|| self.api.document().text()).as_bytes()
    }

    /// The distinct `group first-part` prefixes of the commands.
    pub(crate) fn prefixes(&self) -> Vec<String> {
        let prefixes = prefixes(&self.table.rows).into_iter();
        prefixes.map(|prefix| format!("{} {prefix}", self.record.id)).collect()
    }
}

impl import::Request {
    /// Derives the id from the vendor, or else from a title or the host.
    fn id(&self, api: &Api) -> Result<CatalogId> {
        let host = api.servers().into_iter().find_map(|server| {
            let url = url::Url::parse(&server).ok()?;
            url.host_str().map(str::to_owned)
        });
        let said = [self.vendor.clone(), self.catalog_title.clone(), api.title(), host];
        let mut ids = said.into_iter().flatten().filter_map(|text| id_of(&text));
        ids.next().ok_or_else(|| {
            let hint = Hint::text("name it with ")
                .argument("catalog_title")
                .then(" or ")
                .argument("vendor");
            Problem::new(
                Code::ParamsInvalid,
                "the document has no title to derive a name from",
                hint,
            )
        })
    }

    /// The same import, for a person to make.
    fn invocation(&self) -> Invocation {
        let import = Invocation::of(import::ImportOpenApi::NAME);
        let import = import.with("source", self.source.as_str()).with("overwrite", true);
        let named = [("vendor", &self.vendor), ("catalog_title", &self.catalog_title)];
        let named = named.into_iter().chain([("base_url", &self.base_url)]);
        named.fold(import, |import, (name, value)| match value {
            Some(value) => import.with(name, value.as_str()),
            None => import,
        })
    }

    fn record(
        &self,
        api: &Api,
        id: CatalogId,
        origin: CatalogSource,
        format: Format,
    ) -> CatalogRecord {
        let title = self.catalog_title.as_ref().map(|title| text::line(title, 200));
        let title = title.filter(|title| !title.is_empty());
        let title = title.or_else(|| api.title()).unwrap_or_else(|| id.to_string());
        let mut record = CatalogRecord::new(id, title, origin, format);
        record.vendor = self.vendor.as_ref().map(|vendor| text::line(vendor, 200));
        record.enabled = self.enabled;
        record
    }
}

/// Derives an id from a string. Words with a special meaning in steps get a suffix.
fn id_of(text: &str) -> Option<CatalogId> {
    // `GitHub` is one word, because product names are not split like operation names.
    let mut id = text::kebab(&text.to_lowercase())?;
    id.truncate(64);
    let id = id.trim_end_matches('-');
    let taken = matches!(id, "workflow" | "mcp" | "exec" | crate::author::builtin_command::GROUP);
    CatalogId::parse(&if taken { format!("{id}-api") } else { id.to_owned() }).ok()
}

/// Keeps existing settings of the catalog: names, credentials, a URL set by a person.
fn carry_over(
    record: &mut CatalogRecord,
    asked: &import::Request,
    reader: &Reader,
) -> Result<Option<MovedApi>> {
    let Some(before) = reader.shelf.known(&record.id)? else { return Ok(None) };
    if asked.catalog_title.is_none() {
        record.title.clone_from(&before.title);
    }
    record.names.clone_from(&before.names);
    record.auth.clone_from(&before.auth);
    record.allow_private.clone_from(&before.allow_private);
    record.options = before.options.clone();
    let is_typed = |base: &&BaseUrl| base.by == GivenBy::User;
    let now = record.base_url.as_ref().filter(is_typed);
    if let (Some(typed), None) = (before.base_url.as_ref().filter(is_typed), now) {
        record.base_url = Some(typed.clone());
    }
    Ok(moved(record, &before))
}

/// Credentials belong to an origin. If the API moves, they are kept only if a person set the new
/// URL.
fn moved(record: &mut CatalogRecord, before: &CatalogRecord) -> Option<MovedApi> {
    let origin = |record: &CatalogRecord| {
        let url = url::Url::parse(&record.base_url.as_ref()?.url).ok()?;
        Some(url.origin().ascii_serialization())
    };
    let (then, now) = (origin(before), origin(record));
    if record.auth.is_empty() || then == now {
        return None;
    }
    let keeps_credentials = record.base_url.as_ref().is_some_and(|base| base.by == GivenBy::User);
    if !keeps_credentials {
        record.auth.clear();
    }
    let [then, now] = [then, now].map(|origin| origin.unwrap_or_else(|| "nowhere".to_owned()));
    Some(MovedApi { then, now, keeps_credentials })
}

/// The problem for a document that cannot be imported, with every reason.
pub(crate) fn invalid(source: &str, violations: &[DocumentFinding]) -> Problem {
    if let Some(finding) = violations.iter().find(|finding| finding.path == "/base_url") {
        let hint = Hint::text("correct ").argument("base_url");
        return Problem::new(Code::ParamsInvalid, finding.message.as_str(), hint);
    }
    let first = violations.first().map(|finding| finding.message.as_str()).unwrap_or_default();
    let more = problems::and_more(violations.len());
    let message = format!("`{source}` cannot be imported: {first}{more}");
    let validate = Invocation::of("catalog.validate_openapi").with("source", source);
    let hint = Hint::text("correct the document; check it with ").call(validate);
    let mut problem = Problem::new(Code::CatalogInvalid, message, hint).context("source", source);
    let arguments = violations.iter().map(|finding| Argument {
        path: finding.path.clone(),
        rule: finding.rule.0,
        message: finding.message.clone(),
        ..Argument::default()
    });
    problem.arguments = arguments.collect();
    problem
}
