//! The cells of a plan in their order, grouped by server, each with its name. Pure.

use std::collections::BTreeMap;

use record::control::file_word;

use super::plan::{Matrix, Plan, numbers};

/// The most bytes of a cell's name.
const NAME: usize = 200;

/// The most bytes of a configuration and of a model in a server's name.
const PART: usize = 90;

/// A server of a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Group {
    /// Label of the configuration.
    pub(crate) config: String,
    /// Name of the model.
    pub(crate) model: String,
    /// Tensor parallel size.
    pub(crate) tp: u32,
}

impl Group {
    /// Its name in files.
    pub(super) fn name(&self) -> String {
        let (config, model) = (file_word(&self.config, PART), file_word(&self.model, PART));
        format!("{config}_{model}_TP{}", self.tp)
    }
}

/// Servers in the order of their first cells.
pub(super) fn groups(cells: &[Cell]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for cell in cells {
        if !groups.contains(&cell.group) {
            groups.push(cell.group.clone());
        }
    }
    groups
}

/// One load on one server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    /// Name of its folder.
    pub(crate) name: String,
    /// Number within the whole plan, from 0, whatever is narrowed.
    pub(super) number: u64,
    /// Its server.
    pub(crate) group: Group,
    /// Prompt tokens.
    pub(crate) input: u32,
    /// Output tokens.
    pub(crate) output: u32,
    /// Requests.
    pub(crate) num_prompts: u32,
    /// Requests in flight.
    pub(crate) concurrency: Option<u32>,
    /// Requests per second.
    pub(crate) rate: Option<f64>,
}

impl Cell {
    /// Its values by the names that templates and `--only` use.
    fn values(&self) -> [(&'static str, String); 8] {
        let shown = |value: Option<String>| value.unwrap_or_else(|| "inf".to_owned());
        [
            ("config", self.group.config.clone()),
            ("model", self.group.model.clone()),
            ("tp", self.group.tp.to_string()),
            ("input", self.input.to_string()),
            ("output", self.output.to_string()),
            ("n", self.num_prompts.to_string()),
            (
                "concurrency",
                shown(self.concurrency.map(|n| n.to_string())),
            ),
            ("rate", shown(self.rate.map(|rate| rate.to_string()))),
        ]
    }

    /// Whether it differs from another cell by the load alone.
    pub(super) fn is_on_curve_of(&self, other: &Self) -> bool {
        let lengths = |cell: &Self| (cell.input, cell.output);
        self.group == other.group
            && lengths(self) == lengths(other)
            && self.rate.is_some() == other.rate.is_some()
    }

    /// Requests in flight, or a second, or at once: what a curve is drawn over.
    pub(super) fn load(&self) -> f64 {
        self.rate
            .or(self.concurrency.map(f64::from))
            .unwrap_or(f64::from(self.num_prompts))
    }

    /// Whether it has the values that a filter such as `n=1..20` names.
    fn is_among(&self, key: &str, values: &[String]) -> bool {
        let own = self.values();
        own.iter()
            .any(|(name, own)| *name == key && values.contains(own))
    }
}

/// Every cell of a plan, cells of one server together, servers in the order of the plan.
///
/// # Errors
/// In words: a range that is none, or two cells of one name.
pub(crate) fn expand(plan: &Plan) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = Vec::new();
    for (index, matrix) in plan.matrix.iter().enumerate() {
        of_matrix(matrix, &mut cells).map_err(|error| format!("matrix {}: {error}", index + 1))?;
    }
    let order = groups(&cells);
    cells.sort_by_key(|cell| order.iter().position(|group| *group == cell.group));
    let mut names = BTreeMap::new();
    for (number, cell) in (0u64..).zip(&mut cells) {
        cell.number = number;
        cell.name = named(&plan.name, cell)?;
        if names.insert(cell.name.clone(), ()).is_some() {
            return Err(format!(
                "two cells have the name {}; put what tells them apart into `name`, such as {{output}} or {{concurrency}}",
                cell.name
            ));
        }
    }
    if cells.is_empty() {
        return Err("the plan has no cell".to_owned());
    }
    Ok(cells)
}

fn of_matrix(matrix: &Matrix, cells: &mut Vec<Cell>) -> Result<(), String> {
    let prompts = &matrix.num_prompts.0;
    let limits: Vec<Option<u32>> = match &matrix.concurrency {
        Some(numbers) => numbers.0.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    let rates = match &matrix.rates[..] {
        [] => vec![None],
        rates if rates.iter().all(|rate| rate.is_finite() && *rate > 0.0) => {
            rates.iter().copied().map(Some).collect()
        }
        _ => return Err("rates: each is a number above 0".to_owned()),
    };
    for (config, model, tp) in triples(&matrix.configs, &matrix.models, &matrix.tp) {
        for (input, output, rate) in triples(&matrix.inputs, &matrix.outputs, &rates) {
            for concurrency in &limits {
                cells.extend(prompts.iter().map(|num_prompts| Cell {
                    name: String::new(),
                    number: 0,
                    group: Group {
                        config: config.clone(),
                        model: model.clone(),
                        tp,
                    },
                    input,
                    output,
                    num_prompts: *num_prompts,
                    concurrency: *concurrency,
                    rate,
                }));
            }
        }
    }
    Ok(())
}

/// Every combination of three values.
fn triples<A: Clone, B: Clone, C: Clone>(a: &[A], b: &[B], c: &[C]) -> Vec<(A, B, C)> {
    let mut all = Vec::new();
    for a in a {
        for b in b {
            all.extend(c.iter().map(|c| (a.clone(), b.clone(), c.clone())));
        }
    }
    all
}

/// A cell's name by the template.
fn named(template: &str, cell: &Cell) -> Result<String, String> {
    let mut name = template.to_owned();
    for (key, value) in cell.values() {
        name = name.replace(&format!("{{{key}}}"), &value);
    }
    // A model's name may hold a slash.
    let name = file_word(&name, NAME);
    if name.contains(['{', '}']) || name.is_empty() || name.starts_with('.') {
        return Err(format!(
            "the name `{template}` becomes `{name}`; its places are {{config}}, {{model}}, {{tp}}, {{input}}, {{output}}, {{n}}, {{concurrency}}, {{rate}}"
        ));
    }
    Ok(name)
}

/// The cells that every filter keeps.
///
/// # Errors
/// In words: a filter that is none, or that keeps no cell.
pub(super) fn narrowed(cells: Vec<Cell>, filters: &[String]) -> Result<Vec<Cell>, String> {
    let mut kept = cells;
    for filter in filters {
        let (key, values) = filter
            .split_once('=')
            .ok_or_else(|| format!("--only {filter}: write KEY=VALUES, such as model=8B"))?;
        let known = kept.first().map(Cell::values).unwrap_or_default();
        if !known.iter().any(|(name, _)| *name == key) {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "--only {filter}: `{key}` is not among {}",
                names.join(", ")
            ));
        }
        let values: Vec<String> = if values.contains("..") {
            let range = numbers(values).map_err(|error| format!("--only {filter}: {error}"))?;
            range.iter().map(u32::to_string).collect()
        } else {
            values
                .split(',')
                .map(|value| value.trim().to_owned())
                .collect()
        };
        kept.retain(|cell| cell.is_among(key, &values));
        if kept.is_empty() {
            return Err(format!("--only {filter} keeps no cell of the plan"));
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
schema = 1
name = "{config}_{model}_{tp}{input}_np{n}"
[server]
manage = true
command = ["vllm", "serve", "{path}", "--port", "{port}"]
[[matrix]]
configs = ["1C"]
models = ["8B"]
tp = [1]
inputs = [1024]
outputs = [128]
num_prompts = "1..200"
[[matrix]]
configs = ["2C", "1C"]
models = ["8B"]
tp = [2]
inputs = [1024]
outputs = [128]
num_prompts = "1,4..6"
"#;

    fn cells(text: &str) -> Result<Vec<Cell>, String> {
        Plan::parse(text).and_then(|plan| expand(&plan))
    }

    #[test]
    fn cells_stand_in_order_by_server_under_their_names() {
        let cells = cells(PLAN).unwrap();
        // 200, and twice four.
        assert_eq!(cells.len(), 208);
        assert_eq!(cells[0].name, "1C_8B_11024_np1");
        assert_eq!(cells[199].name, "1C_8B_11024_np200");
        assert_eq!(cells[200].name, "2C_8B_21024_np1");
        assert_eq!(cells[207].name, "1C_8B_21024_np6");
    }

    #[test]
    fn the_plan_of_three_machines_has_two_thousand_cells() {
        // Ten servers of 200 cells each.
        let all = cells(include_str!("../../examples/r9700.toml")).unwrap();
        assert_eq!(all.len(), 2000);
        assert_eq!(all[0].name, "1C_8B_11024_np1");
        assert_eq!(all[1999].name, "5B_27B_21024_np200");
    }

    #[test]
    fn a_plan_with_a_secret_is_refused_without_it() {
        let plan = |server: &str, load: &str| {
            PLAN.replace("manage = true", &format!("manage = true\n{server}"))
                + &format!("[load]\nflags = [{load}]\n")
        };
        assert!(cells(&plan("env = { HIP_VISIBLE_DEVICES = \"0\" }", "")).is_ok());
        let places = "\"--api-key-file\", \"/run/key\", \"--api-key-env=THE_KEY\"";
        assert!(cells(&plan("", places)).is_ok());
        for (text, says) in [
            (
                plan("env = { HF_TOKEN = \"canary\" }", ""),
                "server.env.HF_TOKEN",
            ),
            (
                plan("", "\"--header\", \"Authorization: Bearer canary\""),
                "load.flags",
            ),
            (
                PLAN.replace("command = [", "command = [\"--api-key\", \"canary\", "),
                "server.command",
            ),
        ] {
            let refused = cells(&text).unwrap_err();
            assert!(
                refused.starts_with(says) && !refused.contains("canary"),
                "{refused}"
            );
        }
    }

    #[test]
    fn numbers_are_a_text_or_a_list() {
        let names = |text: &str| -> Vec<String> {
            let all = cells(text).unwrap();
            all.into_iter().map(|cell| cell.name).collect()
        };
        let listed = PLAN.replace("\"1,4..6\"", "[1, 4, 5, 6]");
        assert_eq!(names(&listed), names(PLAN));
        let in_flight = PLAN
            .replace("np{n}", "np{n}_c{concurrency}")
            .replace("\"1,4..6\"", "7\nconcurrency = [2, 4]");
        assert_eq!(
            names(&in_flight)[200..],
            [
                "2C_8B_21024_np7_c2",
                "2C_8B_21024_np7_c4",
                "1C_8B_21024_np7_c2",
                "1C_8B_21024_np7_c4"
            ]
        );
    }

    #[test]
    fn a_wrong_plan_names_its_line() {
        for (from, to, says) in [
            ("tp = [2]", "tpp = [2]", "line 17: unknown field `tpp`"),
            ("manage = true", "manage = false", "base_url is missing"),
            ("np{n}", "np", "two cells have the name"),
            ("{model}", "{modle}", "{model}"),
            ("\"1,4..6\"", "\"6..4\"", "line 20: `6..4`"),
            ("\"1,4..6\"", "[1, 0]", "line 20: `0`"),
            ("\"1,4..6\"", "[]", "line 20: ``"),
            ("\"1,4..6\"", "[\"1\"]", "line 20: `\"1\"`"),
            ("schema = 1", "schema = 9", "schema 9"),
        ] {
            assert!(PLAN.contains(from));
            let refused = cells(&PLAN.replace(from, to)).unwrap_err();
            assert!(refused.contains(says), "no `{says}` in {refused}");
        }
    }
}
