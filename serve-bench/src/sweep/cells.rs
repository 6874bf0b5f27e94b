//! The cells of a plan in their order, grouped by server, each with its name; and which of them make a curve, with its knee. Pure.

use std::collections::BTreeSet;

use import::serve::ServeResult;
use record::control::file_word;

use super::plan::{LABEL, Matrix, Numbers, Plan};

/// The most bytes of a cell's name.
const NAME: usize = 200;

/// The most bytes of a configuration and of a model in a server's name.
const PART: usize = 90;

/// Requests for each in flight, seconds of a rate, and the fewest requests of a cell whose number is not given.
const ROUNDS: u32 = 4;
const WINDOW_S: f64 = 30.0;
const LEAST: u32 = 16;

/// One load on one server.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    /// Name of its folder.
    pub(crate) name: String,
    /// Number within the whole plan, from 0, whatever is narrowed.
    pub(super) number: u64,
    /// Label of the configuration.
    pub(super) config: String,
    /// Name of the model.
    pub(super) model: String,
    /// Tensor parallel size.
    pub(super) tp: u32,
    /// The name of its server in files.
    pub(super) server: String,
    /// Prompt tokens.
    pub(super) input: u32,
    /// Output tokens.
    pub(super) output: u32,
    /// Requests.
    pub(super) num_prompts: u32,
    /// Requests in flight.
    pub(super) concurrency: Option<u32>,
    /// Requests per second.
    pub(super) rate: Option<f64>,
}

impl Cell {
    /// Its values by the names that templates and `--only` use.
    fn values(&self) -> [(&'static str, String); 8] {
        let or_inf = |load: Option<f64>| load.unwrap_or(f64::INFINITY).to_string();
        [
            ("config", self.config.clone()),
            ("model", self.model.clone()),
            ("tp", self.tp.to_string()),
            ("input", self.input.to_string()),
            ("output", self.output.to_string()),
            ("n", self.num_prompts.to_string()),
            ("concurrency", or_inf(self.concurrency.map(f64::from))),
            ("rate", or_inf(self.rate)),
        ]
    }

    /// The configuration, of a plan that names some.
    pub(crate) fn label(&self) -> Option<String> {
        Some(self.config.clone()).filter(|label| label != LABEL)
    }

    /// What cells of one curve share, which differ by the load alone.
    fn curve(&self) -> (&str, u32, u32, bool) {
        (&self.server, self.input, self.output, self.rate.is_some())
    }

    /// Requests in flight, or a second, or at once: what a curve is drawn over.
    fn load(&self) -> f64 {
        self.rate
            .or(self.concurrency.map(f64::from))
            .unwrap_or(f64::from(self.num_prompts))
    }

    /// Requests where nobody says how many.
    fn usual_requests(&self) -> u32 {
        match self.rate {
            Some(rate) => (rate * WINDOW_S).ceil() as u32,
            None => self.concurrency.unwrap_or(0).saturating_mul(ROUNDS),
        }
        .max(LEAST)
    }
}

/// Every cell of a plan, cells of one server together, servers in the order of the plan.
///
/// # Errors
/// In words: no cell, or two of one name.
pub(crate) fn expand(plan: &Plan) -> Result<Vec<Cell>, String> {
    let mut rates = plan.matrix.iter().flat_map(|matrix| &matrix.rates);
    if rates.any(|rate| !(1e-6..=1e6).contains(rate)) {
        return Err("rates: each is a number from 0.000001 to 1000000".to_owned());
    }
    let mut cells: Vec<Cell> = plan.matrix.iter().flat_map(of_matrix).collect();
    for cell in &mut cells {
        let (config, model) = (file_word(&cell.config, PART), file_word(&cell.model, PART));
        cell.server = format!("{config}_{model}_TP{}", cell.tp);
    }
    let order: Vec<String> = cells.iter().map(|cell| cell.server.clone()).collect();
    cells.sort_by_cached_key(|cell| order.iter().position(|name| *name == cell.server));
    let mut names = BTreeSet::new();
    for (number, cell) in (0u64..).zip(&mut cells) {
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
    // These numbers, or that there is none.
    let listed = |numbers: &Option<Numbers>| match numbers {
        Some(numbers) => numbers.0.iter().copied().map(Some).collect(),
        None => vec![None],
    };
    let rates: Vec<Option<f64>> = match matrix.rates.is_empty() {
        true => vec![None],
        false => matrix.rates.iter().copied().map(Some).collect(),
    };
    let cells = vec![Cell::default()];
    let cells = each(cells, &matrix.configs, |cell, config| cell.config = config);
    let cells = each(cells, &matrix.models, |cell, model| cell.model = model);
    let cells = each(cells, &matrix.tp, |cell, tp| cell.tp = tp);
    let cells = each(cells, &matrix.inputs, |cell, input| cell.input = input);
    let cells = each(cells, &matrix.outputs, |cell, output| cell.output = output);
    let cells = each(cells, &rates, |cell, rate| cell.rate = rate);
    let cells = each(cells, &listed(&matrix.concurrency), |cell, number| {
        cell.concurrency = number;
    });
    each(cells, &listed(&matrix.num_prompts), |cell, number| {
        cell.num_prompts = number.unwrap_or_else(|| cell.usual_requests());
    })
}

/// Each cell with each of these values.
fn each<T: Clone>(cells: Vec<Cell>, values: &[T], set: fn(&mut Cell, T)) -> Vec<Cell> {
    let with = |cell: Cell| {
        values.iter().cloned().map(move |value| {
            let mut cell = cell.clone();
            set(&mut cell, value);
            cell
        })
    };
    cells.into_iter().flat_map(with).collect()
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
        let names = cells[0].values().map(|(name, _)| name);
        let keyed = filter.split_once('=');
        let (key, values) = keyed
            .filter(|(key, _)| names.contains(key))
            .ok_or_else(|| {
                let names = names.join(", ");
                wrong(&format!("write KEY=VALUES, such as model=8B, of {names}"))
            })?;
        let listed = |part: &str| match part.parse::<Numbers>() {
            Ok(range) => range.0.iter().map(u32::to_string).collect(),
            Err(_) => vec![part.trim().to_owned()],
        };
        let values: Vec<String> = values.split(',').flat_map(listed).collect();
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
pub(super) type Measured<'a> = (&'a Cell, ServeResult);

/// The cells of one curve, which differ by their load alone, by ascending load; curves in the order of the plan.
pub(super) fn curves<'a>(cells: &'a [Measured<'a>]) -> Vec<Vec<&'a Measured<'a>>> {
    let mut curves: Vec<Vec<&Measured<'_>>> = Vec::new();
    for one in cells {
        let own = curves
            .iter_mut()
            .find(|of| of[0].0.curve() == one.0.curve());
        match own {
            Some(curve) => curve.push(one),
            None => curves.push(vec![one]),
        }
    }
    let by_load =
        |one: &&Measured<'_>, other: &&Measured<'_>| one.0.load().total_cmp(&other.0.load());
    curves.iter_mut().for_each(|curve| curve.sort_by(by_load));
    curves
}

/// The index of the knee among results of ascending load: the most output tokens/s for their mean latency (Kleinrock 1979, "Power
/// and deterministic rules of thumb"). `None` below three loads, or without a latency.
pub(super) fn knee(curve: &[&Measured<'_>]) -> Option<usize> {
    let power = |(_, one): &&Measured<'_>| Some(one.output_tokens_per_s()? / one.latency_ms()?);
    knee_of(&curve.iter().map(power).collect::<Option<Vec<f64>>>()?)
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
        let plan = |load: &str| format!("{PLAN}[load]\nflags = [{load}]\n");
        let with =
            |server: &str| PLAN.replace("manage = true", &format!("manage = true\n{server}"));
        assert!(cells(&with("env = { HIP_VISIBLE_DEVICES = \"0\" }")).is_ok());
        let places = "\"--api-key-file\", \"/run/key\", \"--api-key-env=THE_KEY\"";
        assert!(cells(&plan(places)).is_ok());
        for (text, says) in [
            (
                plan("\"--header\", \"Authorization: Bearer canary\""),
                "load.flags",
            ),
            (
                with("base_url = \"http://user:canary@h\""),
                "server.base_url",
            ),
            (with("env = { HF_TOKEN = \"canary\" }"), "server.env"),
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
