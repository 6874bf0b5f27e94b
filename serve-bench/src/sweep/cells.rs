//! The cells of a plan in their order, grouped by server, each with its name; and which of them make a curve, with its knee. Pure.

use std::collections::BTreeSet;

use import::serve::ServeResult;
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
        let concurrency = self.concurrency.map(|number| number.to_string());
        let rate = self.rate.map(|rate| rate.to_string());
        let without = || "inf".to_owned();
        [
            ("config", self.group.config.clone()),
            ("model", self.group.model.clone()),
            ("tp", self.group.tp.to_string()),
            ("input", self.input.to_string()),
            ("output", self.output.to_string()),
            ("n", self.num_prompts.to_string()),
            ("concurrency", concurrency.unwrap_or_else(without)),
            ("rate", rate.unwrap_or_else(without)),
        ]
    }

    /// Whether it differs from another cell by the load alone.
    fn is_on_curve_of(&self, other: &Self) -> bool {
        let curve = |cell: &Self| (cell.input, cell.output, cell.rate.is_some());
        self.group == other.group && curve(self) == curve(other)
    }

    /// Requests in flight, or a second, or at once: what a curve is drawn over.
    fn load(&self) -> f64 {
        self.rate
            .or(self.concurrency.map(f64::from))
            .unwrap_or(f64::from(self.num_prompts))
    }
}

/// Every cell of a plan, cells of one server together, servers in the order of the plan.
///
/// # Errors
/// In words: a range that is none, or two cells of one name.
pub(crate) fn expand(plan: &Plan) -> Result<Vec<Cell>, String> {
    let mut cells: Vec<Cell> = plan.matrix.iter().flat_map(of_matrix).collect();
    let order = groups(&cells);
    cells.sort_by_key(|cell| order.iter().position(|group| *group == cell.group));
    let mut names = BTreeSet::new();
    for (number, cell) in (0u64..).zip(&mut cells) {
        if cell.rate.is_some_and(|rate| !(1e-6..=1e6).contains(&rate)) {
            return Err("rates: each is a number from 0.000001 to 1000000".to_owned());
        }
        cell.number = number;
        cell.name = named(&plan.name, cell)?;
        if !names.insert(cell.name.clone()) {
            return Err(format!(
                "two cells have the name {}; put what tells them apart into `name`, such as {{output}} or {{concurrency}}",
                cell.name
            ));
        }
    }
    match cells.is_empty() {
        true => Err("the plan has no cell".to_owned()),
        false => Ok(cells),
    }
}

fn of_matrix(matrix: &Matrix) -> Vec<Cell> {
    let limits: Vec<Option<u32>> = match &matrix.concurrency {
        Some(numbers) => numbers.0.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    let rates = match &matrix.rates[..] {
        [] => vec![None],
        rates => rates.iter().copied().map(Some).collect(),
    };
    let mut cells = Vec::new();
    for (config, model, tp) in triples(&matrix.configs, &matrix.models, &matrix.tp) {
        let group = Group { config, model, tp };
        for (input, output, rate) in triples(&matrix.inputs, &matrix.outputs, &rates) {
            let loads = triples(&limits, &matrix.num_prompts.0, &[()]);
            cells.extend(
                loads
                    .into_iter()
                    .map(|(concurrency, num_prompts, ())| Cell {
                        name: String::new(),
                        number: 0,
                        group: group.clone(),
                        input,
                        output,
                        num_prompts,
                        concurrency,
                        rate,
                    }),
            );
        }
    }
    cells
}

/// Every combination of three values.
fn triples<A: Clone, B: Clone, C: Clone>(a: &[A], b: &[B], c: &[C]) -> Vec<(A, B, C)> {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let all = pairs.flat_map(|(a, b)| c.iter().map(move |c| (a.clone(), b.clone(), c.clone())));
    all.collect()
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

/// The cells that every filter, such as `n=1..20`, keeps.
///
/// # Errors
/// In words: a filter that is none, or that keeps no cell.
pub(super) fn narrowed(mut cells: Vec<Cell>, filters: &[String]) -> Result<Vec<Cell>, String> {
    for filter in filters {
        let wrong = |what: &str| format!("--only {filter}: {what}");
        let (key, values) = filter
            .split_once('=')
            .ok_or_else(|| wrong("write KEY=VALUES, such as model=8B"))?;
        let names = cells[0].values().map(|(name, _)| name);
        if !names.contains(&key) {
            return Err(wrong(&format!("`{key}` is not among {}", names.join(", "))));
        }
        let values: Vec<String> = match values.contains("..") {
            true => {
                let range = numbers(values).map_err(|error| wrong(&error))?;
                range.iter().map(u32::to_string).collect()
            }
            false => values.split(',').map(|one| one.trim().to_owned()).collect(),
        };
        cells.retain(|cell| {
            let mut own = cell.values().into_iter();
            own.any(|(name, own)| name == key && values.contains(&own))
        });
        if cells.is_empty() {
            return Err(wrong("keeps no cell of the plan"));
        }
    }
    Ok(cells)
}

/// A cell with what it measured.
pub(super) type Measured = (Cell, ServeResult);

/// The cells of one curve, which differ by their load alone, by ascending load.
pub(super) fn curves(cells: &[Measured]) -> Vec<Vec<&Measured>> {
    let mut curves: Vec<Vec<&Measured>> = Vec::new();
    for cell in cells {
        let fits = |curve: &&mut Vec<&Measured>| curve[0].0.is_on_curve_of(&cell.0);
        match curves.iter_mut().find(fits) {
            Some(curve) => curve.push(cell),
            None => curves.push(vec![cell]),
        }
    }
    for curve in &mut curves {
        curve.sort_by(|one, other| one.0.load().total_cmp(&other.0.load()));
    }
    curves
}

/// The index of the knee among results of ascending load: the most output tokens/s for their mean latency (Kleinrock 1979, "Power
/// and deterministic rules of thumb"). `None` below three loads, or without a latency.
pub(super) fn knee(curve: &[&Measured]) -> Option<usize> {
    let power = |(_, one): &&Measured| Some(one.output_tokens_per_s()? / one.latency_ms()?);
    let powers: Vec<f64> = curve.iter().map(power).collect::<Option<_>>()?;
    knee_of(&powers)
}

fn knee_of(powers: &[f64]) -> Option<usize> {
    let by_power = powers.iter().enumerate();
    let best = by_power.max_by(|one, other| one.1.total_cmp(other.1))?.0;
    (powers.len() > 2).then_some(best)
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

    #[test]
    fn the_knee_is_where_throughput_over_latency_is_largest() {
        // 1, 2, 4, 8 in flight: 100, 190, 300, 330 tok/s at 10, 10.5, 13.3, 24 ms: powers 10, 18.1, 22.6, 13.8.
        assert_eq!(knee_of(&[10.0, 18.1, 22.6, 13.8]), Some(2));
        assert_eq!(knee_of(&[10.0, 18.1]), None);
    }
}
