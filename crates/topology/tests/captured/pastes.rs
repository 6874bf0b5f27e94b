//! What stands around outputs in pastes: prompts, several outputs, fences, mails, other line ends.

use crate::captured::{captured, texts};

/// All of a box in one text.
fn session() -> String {
    format!(
        "me@box:~$ nvidia-smi topo -m\n{}\nme@box:~$ nvidia-smi topo -p2p r\n{}\nme@box:~$ nvidia-smi -L\n{}\
         me@box:~$ numactl -H\n{}me@box:~$ exit\n",
        texts::TOPO_PHB,
        texts::P2P_STATUS,
        texts::LIST_MIG,
        texts::NODES_A
    )
}

#[test]
fn one_text_may_hold_the_outputs_of_several_tools() {
    let captured = captured(&session());
    assert_eq!(
        captured.sources,
        [
            "nvidia-smi topo -m",
            "nvidia-smi topo -p2p",
            "nvidia-smi -L",
            "numactl -H"
        ]
    );
    assert!(captured.matrix.is_some() && captured.table("peer status (read)").is_some());
    assert_eq!((captured.gpus.len(), captured.nodes.len()), (2, 2));
}

#[test]
fn what_mails_editors_and_shells_put_around_changes_nothing() {
    let plain = session();
    let expected = captured(&plain);
    let quoted: String = plain.lines().map(|line| format!("> {line}\n")).collect();
    let indented: String = plain
        .lines()
        .map(|line| format!("    {line}   \n"))
        .collect();
    for text in [
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        format!("Here is my box:\n\n```text\n{plain}```\nThanks!\n"),
        quoted,
        indented,
        plain.replace('\t', "        "),
    ] {
        assert_eq!(captured(&text), expected, "{text}");
    }
}

#[test]
fn a_paste_with_an_empty_line_after_each_line_is_whole() {
    for (name, text) in [("L40", texts::TOPO_L40), ("MXC500", texts::MX_ONE_GROUP)] {
        let spaced = text.replace('\n', "\n\n");
        // The title of MetaX's matrix stands right above its header.
        let spaced = spaced.replace("matrix\n\n", "matrix\n");
        assert_eq!(captured(&spaced).matrix, captured(text).matrix, "{name}");
    }
}

#[test]
fn nothing_of_a_text_reaches_a_terminal_as_a_control_character() {
    let text = texts::LIST_MIG.replace("NVIDIA A100", "NVIDIA \u{1b}]0;title\u{7}A100");
    let name = captured(&text).gpus[0].name.clone().unwrap();
    assert!(
        name.contains("A100") && !name.contains(char::is_control),
        "{name:?}"
    );
}
