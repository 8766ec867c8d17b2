//! `card show --field`: one value, for scripts.

use tests::Workspace;

#[test]
fn a_script_reads_one_value_of_a_card_or_of_what_it_is_given() {
    let workspace = Workspace::new();
    let create = ["create", "a", "--task-type", "t", "--title", "Say \"你好\"", "--meta", "k=two words"];
    workspace.run("card", &create).ok();
    let show = |args: &[&str]| workspace.run("card", &[&["show", "a", "--field"], args].concat()).ok().is_quiet().stdout();
    assert_eq!(show(&["title"]), "Say \"你好\"\n");
    assert_eq!(show(&["title", "--format", "json"]), "\"Say \\\"你好\\\"\"\n");
    assert_eq!(show(&["metadata.k"]), "two words\n");
    assert_eq!(show(&["metadata"]), "{\"k\":\"two words\"}\n");
    assert_eq!(show(&["revision"]), "1\n");
    assert_eq!(show(&["metadata.none.at.all"]), "");
    let given = |input: &str, path: &str| workspace.run_with("card", &["show", "-", "--field", path], input);
    assert_eq!(given("{\"a\":[{\"b\":1.10},\n{\"b\":null}]}", "a.-2.b").ok().stdout(), "1.10\n");
    assert_eq!(given("{\"a\":[{\"b\":1.10},{\"b\":null}]}", "a.1.b").ok().stdout(), "");
    given("no JSON", "a").exits(65).complains("standard input is no JSON value");
    workspace.run("card", &["show", "-"]).exits(64).complains("--field");
    workspace.run("card", &["show", "a", "-", "--field", "title"]).exits(64).complains("not both");
    workspace.run("card", &["show", "b", "--field", "title"]).exits(66);
    // It needs no workspace for what it is given.
    let outside = format!(
        "cd / && echo '{{\"a\":1}}' | env -u TASK_RUNS_DIR '{}' show - --field a",
        tests::programs().join("card").display()
    );
    assert_eq!(workspace.shell(&outside).ok().stdout(), "1\n");
}
