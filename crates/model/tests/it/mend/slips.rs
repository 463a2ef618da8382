//! Habits from other languages and tools, as models exhibit them.

use milepost_syntax::source::Format;

use super::bases::Base;
use super::random::Random;
use super::typos::{Change, regex, spliced};

macro_rules! slips {
    ($($kind:literal: $only:ident $($find:expr => $put:literal),+;)*) => {
        &[$(($kind, |base, text, random| {
            rewritten(base, text, random, Only::$only, &[$(($find, $put)),+])
        })),*]
    };
}

/// The documents in which a mistake can occur.
#[derive(Clone, Copy, PartialEq)]
enum Only {
    All,
    Manifests,
    Guides,
    Yaml,
    Json,
    YamlManifests,
}

impl Only {
    fn admits(self, base: &Base) -> bool {
        match self {
            Only::All => true,
            Only::Manifests => !base.guide,
            Only::Guides => base.guide,
            Only::Yaml => base.format == Format::Yaml,
            Only::Json => base.format == Format::Json,
            Only::YamlManifests => base.format == Format::Yaml && !base.guide,
        }
    }
}

pub(super) const CHANGES: &[(&str, Change)] = slips![
    "slip: {{ }}": Manifests
        r"\$\{\{ ([^}]*) \}\}" => "{{ $1 }}",
        r"\$\{\{ ([^}]*) \}\}" => "{{$1}}";
    "slip: condition": Manifests
        r#"(\W)if("?: )"# => "${1}condition$2",
        r#"(\W)when("?: )"# => "${1}condition$2";
    "slip: workflow_id": Manifests
        r#"\bworkflow("?: )"# => "workflow_id$1",
        r#"\bworkflow("?: )"# => "workflowId$1",
        r#"\bworkflow("?: )"# => "id$1";
    "slip: scalar default": Manifests
        r#"("?default"?: )\{"?from"?: "?literal"?, "?value"?: ([^}]*)\}"# => "$1$2",
        r"(default:)\r?\n +from: literal\r?\n +value:" => "$1";
    "slip: args": Manifests
        r#"(\W)with("?: ?)"# => "${1}args$2",
        r#"(\W)with("?: ?)"# => "${1}flags$2",
        r#"(\W)with("?: ?)"# => "${1}params$2",
        r#"(\W)with("?: ?)"# => "${1}arguments$2";
    "slip: ===": Manifests
        " == " => " === ",
        " != " => " !== ";
    "slip: and, or, not": Manifests
        r" && " => " and ",
        r" \|\| " => " or ",
        r"!(\(|steps)" => "not $1";
    "slip: single = & |": Manifests
        " == " => " = ",
        " && " => " & ",
        r" \|\| " => " | ";
    "slip: name for title": All
        r#"( |"|\{)title("?: )"# => "${1}name$2";
    "slip: needs": Manifests
        r#"depends_on("?: ?\[)"# => "needs$1",
        r#"depends_on("?: ?\[)"# => "after$1",
        r"depends_on(:\r?\n +- )" => "needs$1";
    "slip: required": Manifests
        r#"("?)optional("?: )true"# => "${1}required${2}false",
        r#"("?)(type"?: "?string"?, |type"?: "?integer"?, )("?)(validate|enum)"# =>
            "${1}${2}${3}required${3}: true, ${3}${4}";
    "slip: dotted hyphen": Manifests
        r"steps\['([a-z-]+)'\]" => "steps.$1";
    "slip: no output": Manifests
        r"(steps\.[a-z_]+)\.output\." => "$1.",
        r"(steps\['[a-z-]+'\])\.output\." => "$1.";
    "slip: outputs": Manifests
        r"(steps\.[a-z_]+)\.output\." => "$1.outputs.";
    "slip: no inputs": Manifests
        r"\binputs\.([a-z_]+)" => "$1";
    "slip: run with a slash": Manifests
        r#"(run"?: "?[a-z]+) ([a-z]+:)"# => "$1/$2",
        r#"(run"?: "?[a-z]+) ([a-z]+:)"# => "$1.$2";
    "slip: uses": Manifests
        r#"(\W)run("?: )"# => "${1}uses$2",
        r#"(\W)run("?: )"# => "${1}command$2";
    "slip: key of a relative": Manifests
        r#"(\W)attempts("?: )"# => "${1}attemps$2",
        r#"(\W)every("?: )"# => "${1}interval$2",
        r#"(\W)enum("?: )"# => "${1}options$2",
        r#"(\W)pattern("?: )"# => "${1}regex$2",
        r#"(\W)minimum("?: )"# => "${1}min$2",
        r#"(\W)final_output("?: )"# => "${1}outputs$2",
        r#"(\W)agent_role("?: )"# => "${1}role$2",
        r#"(\W)body("?: \{)"# => "${1}data$2",
        r#"(\W)wait("?: )"# => "${1}sleep$2";
    "slip: if of a guide": Guides
        r#"(\W)runCondition("?: ?)"# => "${1}if$2",
        r#"(\W)runCondition("?: ?)"# => "${1}condition$2",
        r#"(\W)runCondition("?: ?)"# => "${1}when$2";
    "slip: operator": Guides
        r#"(\W)equals("?: )"# => "${1}eq$2",
        r#"(\W)equals("?: )"# => "${1}is$2",
        r#"(\W)not_equals("?: )"# => "${1}neq$2",
        r#"(\W)gt("?: )"# => "${1}greaterThan$2",
        r#"(\W)gte("?: )"# => "${1}greaterThanOrEqual$2",
        r#"(\W)in("?: )"# => "${1}oneOf$2",
        r#"(\W)and("?: ?)"# => "${1}allOf$2",
        r#"(\W)or("?: ?)"# => "${1}anyOf$2",
        r#"(\W)var("?: )"# => "${1}variable$2";
    "slip: rule without type": All
        r#"\{"?type"?: "?(?:contains|regex|length)"?, "# => "{",
        r"- type: (?:contains|length|regex)\r?\n +" => "- ";
    "slip: key of a guide": Guides
        r#"(\W)agentRole("?: )"# => "${1}role$2",
        r#"(\W)validationCriteria("?: ?)"# => "${1}validation$2",
        r#"(\W)maxIterations("?: )"# => "${1}max_iterations$2",
        r#"(\W)maxIterations("?: )"# => "${1}limit$2";
    "type: number in quotes": All
        concat!(
            r#"((?:max_attempts|concurrency|cache_ttl_sec|minimum|maximum|max_length|"#,
            r#"min_length|http_calls|maxIterations|min|max|writes)"?: )([0-9]+)\b"#,
        ) => "$1\"$2\"";
    "type: float for int": All
        concat!(
            r#"((?:max_attempts|concurrency|max_length|http_calls|maxIterations|"#,
            r#"min)"?: )([0-9]+)\b"#,
        ) => "$1$2.0";
    "type: bool in quotes": All
        concat!(
            r#"((?:optional|secret|jitter|idempotent|ask_for_files|askForFiles|"#,
            r#"require_confirmation|requireConfirmation|hasValidation)"?: )(true|"#,
            r#"false)\b"#,
        ) => "$1\"$2\"";
    "type: yes and no": Yaml
        r"((?:optional|secret|jitter|idempotent|require_confirmation): )true\b" => "${1}yes",
        r"((?:ask_for_files|askForFiles|requireConfirmation): )false\b" => "${1}no";
    "type: True and False": Json
        r"(: )true\b" => "${1}True",
        r"(: )false\b" => "${1}False";
    "type: one for a list": All
        concat!(
            r#"("?(?:tags|guidance|by|depends_on|constraints|preconditions|"#,
            r#"metaGuidance|clarificationPrompts|verify|procedure)"?: )\[("[^"]*"|"#,
            r#"[^,\[\]]*)\]"#,
        ) => "$1$2";
    "type: text without quotes": Yaml
        r#"((?:title|hint|placeholder|source|value): )"([0-9.]+)""# => "$1$2",
        r#"(- |\[)"([0-9.]+)""# => "$1$2";
    "type: version of two": All
        r#"(version"?: )"?([0-9]+\.[0-9]+)\.0"?"# => "$1$2";
    "type: version with v": All
        r#"(version"?: "?)([0-9]+\.[0-9]+\.[0-9]+)"# => "${1}v$2";
    "type: bare seconds": Manifests
        r#"((?:timeout|initial|max|every|expires|wait)"?: )"?([0-9]+)s"?"# => "$1$2";
    "type: seconds in words": Manifests
        r#"((?:timeout|initial|max|every|expires|wait)"?: "?)([0-9]+)s\b"# => "$1$2 seconds",
        r#"((?:timeout|initial|max|every|expires|wait)"?: "?)([0-9]+)m\b"# => "$1$2 min",
        r#"((?:timeout|initial|max|every|expires|wait)"?: "?)([0-9]+)h\b"# => "$1$2 hours";
    "json: trailing comma": Json
        r#"(["\]])(\s*[}\]])"# => "$1,$2";
    "json: comment": Json
        r"(,)(\r?\n)" => "$1 // as agreed$2",
        r#"([,{])( *"[a-z_]+":)"# => "$1 /* as agreed */$2",
        r"(,)(\r?\n)" => "$1 # as agreed$2";
    "json: single quotes": Json
        r#""([A-Za-z_ ]+)""# => "'$1'";
    "json: key without quotes": Json
        r#""([A-Za-z_]+)":"# => "$1:";
    "json: missing comma": Json
        r#"(["\]}]),(\s)"# => "$1$2";
    "json: missing colon": Json
        r#"":( ["\[{0-9])"# => "\"$1";
    "json: not closed": Json
        r"\}\s*\z" => "",
        r"\]\s*\}\s*\z" => "";
    "json: fence": Json
        r"\A(?s:(.*))\z" => "```json\n$1\n```\n",
        r"\A(?s:(.*))\z" => "```\n$1```";
    "yaml: fence": Yaml
        r"\A(?s:(.*))\z" => "```yaml\n$1\n```\n";
    "yaml: tab": Yaml
        r"(?m)^((?:    )*)  ( *[a-z_]+:)" => "$1\t$2",
        r"(?m)^    ( *- )" => "\t\t$1";
    "yaml: colon in a value": Yaml
        r#"((?:title|message|agent_role|prompt): )["']([^"'\n]*: [^"'\n]*)["']"# => "$1$2",
        r#"(?m)^( +- )"([^"'\n]*: [^"'\n]*)"(\r?)$"# => "$1$2$3";
    "yaml: glued colon": Yaml
        r"(\{[a-z_]+): " => "$1:";
    "yaml: braces without quotes": YamlManifests
        r#"(: )"\$\{\{ ([^"}]*) \}\}""# => "$1{{ $2 }}";
    "yaml: bang without quotes": YamlManifests
        r#"((?:if|when): )"(![^"]*)""# => "$1$2";
    "dup: identical key": Yaml
        r"(?m)^( +)([a-z_]+: [A-Za-z0-9][A-Za-z0-9 ]*)(\r?)$" => "$1$2$3\n$1$2$3",
        r"(?m)^( +)(title: [A-Z][a-z ]+)(\r?)$" => "$1$2$3\n$1$2$3";
    "dup: identical property": Json
        r#"("[a-z_]+": "[A-Za-z ]*",)( |\r?\n *)"# => "$1 $1$2";
];

/// Applies one of the rewrites at one of the places where it fits.
fn rewritten(
    base: &Base,
    text: &str,
    random: &mut Random,
    only: Only,
    pairs: &[(&str, &str)],
) -> Option<String> {
    if !only.admits(base) {
        return None;
    }
    let (find, put) = random.pick(pairs)?;
    let pattern = regex(find);
    let found: Vec<regex::Captures<'_>> = pattern.captures_iter(text).collect();
    let captures = random.pick(&found)?;
    let mut with = String::new();
    captures.expand(put, &mut with);
    Some(spliced(text, captures.get(0)?.range(), &with))
}
