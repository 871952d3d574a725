"""Tables read back from every format, whatever names they hold."""

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest
from made_results import made_results
from markdown_it import MarkdownIt

from cosift.experiment import conclude
from cosift.report.tables import (
    make_tables,
    to_csv,
    to_latex,
    to_markdown,
    write_tables,
)

PLAIN = ["all-features", "fisher-score", "sfmc"]
HOSTILE = [
    "=cmd()|'/C calc'!A0",
    "<script>alert(1)</script>",
    "a|b & c_d #1 100% $x$ {y} ~^ \\input{/etc/passwd}",
    "[2em] *bold* _it_ `code` ![i](j)",
    "* \\\\ \\end{tabular}\nline & two\r\u2028three",
    '+1, "quoted"; -2',
    "\t@SUM(A1)",
    "Ünïcode \N{SNOWMAN}",
]


def values(n_methods, n_repeats=4, n_shares=2, n_tasks=2, seed=0):
    rng = np.random.default_rng(seed)
    noise = 0.01 * rng.normal(size=(n_methods, n_repeats, n_shares, n_tasks))
    gains = np.linspace(0.0, 0.3, n_methods)
    gains[-2] = gains[-1] - 0.001
    return 0.6 + noise + gains[:, None, None, None]


@pytest.fixture(params=["plain", "hostile"])
def made(request, tmp_path):
    methods = {"plain": PLAIN, "hostile": HOSTILE}[request.param]
    tasks = ["left", "right"] if request.param == "plain" else HOSTILE[:2]
    dataset = "twins" if request.param == "plain" else HOSTILE[2]
    results = made_results(
        tmp_path,
        values(len(methods)),
        methods=methods,
        shares=(5.0, 50.0),
        tasks=tasks,
        dataset=dataset,
    )
    published = pl.DataFrame(
        {
            "method": methods[:2],
            "labeled_percent": [5.0, 50.0],
            "task": tasks[:1] * 2,
            "mean": [0.0307, 0.5],
            "std": [0.023, None],
            "note": [f"printed 0.0307 {methods[-1]}", None],
        }
    )
    concluded = conclude(results)
    return methods, concluded, make_tables(results, concluded, published)


def one_line(name):
    """What is left of a name in a table: control characters are no text."""
    return re.sub(r"[\x00-\x1f\u2028]+", " ", name).strip()


def shown(cell, table, best="{}", tied="{}", plus_minus="±"):
    if cell is None:
        return ""
    text = {"best": best, "tied": tied, "": "{}"}[cell.mark].format(f"{cell.mean:.3f}")
    return text if cell.std is None else f"{text} {plus_minus} {cell.std:.3f}"


def labels(table):
    return [one_line(row.method) + (", published" if row.published else "") for row in table.rows]


def test_tables_hold_what_was_concluded(made):
    methods, concluded, tables = made
    assert [table.task for table in tables] == [
        *concluded.table["task"].unique(maintain_order=True)
    ]
    assert all(table.shares == (5.0, 50.0, None) for table in tables)
    seen = 0
    for table in tables:
        rows = [row for row in table.rows if not row.published]
        assert [row.method for row in rows] == methods
        for row in rows:
            for share, cell in zip(table.shares, row.cells, strict=True):
                found = concluded.table.filter(
                    (pl.col("method") == row.method)
                    & pl.col("task").eq_missing(table.task)
                    & pl.col("labeled_percent").eq_missing(share)
                ).row(0, named=True)
                assert (cell.mean, cell.std, cell.n) == (found["mean"], found["std"], found["n"])
                assert cell.mark == ("best" * found["best"] or "tied" * found["tied"])
                seen += 1
    assert seen == len(concluded.table)
    assert {cell.mark for table in tables for row in table.rows for cell in row.cells if cell} == {
        "best",
        "tied",
        "",
    }


def test_published_numbers_stand_below_ours(made):
    methods, _, (first, *others) = made
    assert labels(first)[:4] == [
        one_line(name) for m in methods[:2] for name in (m, f"{m}, published")
    ]
    cell, *rest = first.rows[1].cells
    assert (cell.mean, cell.std, cell.n, cell.mark) == (0.0307, 0.023, None, "")
    assert rest == [None, None]
    assert first.notes == [f"{methods[0]}, 5%: printed 0.0307 {methods[-1]}"]
    assert not any(row.published for table in others for row in table.rows)


# CSV


def test_csv_reads_back(made):
    _, concluded, tables = made
    rows = list(csv.DictReader(io.StringIO(to_csv(tables))))
    expected = [(table, row) for table in tables for row in table.rows]
    assert len(rows) == len(expected)
    for found, (table, row) in zip(rows, expected, strict=True):
        assert found["metric"] == "mean average precision"
        assert found["tuning"] == concluded.tuning == "oracle"
        assert found["source"] == ("published" if row.published else "found")
        task = "mean over tasks" if table.task is None else one_line(table.task)
        assert found["task"].removeprefix("'") == task
        assert found["method"].removeprefix("'") == one_line(row.method)
        for head, cell in zip(["5%", "50%", "all"], row.cells, strict=True):
            for name in ("mean", "std", "n", "mark"):
                value = getattr(cell, name, None)
                assert found[f"{head} {name}"] == ("" if value is None else str(value))


def test_csv_holds_no_formula(made):
    _, _, tables = made
    for row in csv.reader(io.StringIO(to_csv(tables))):
        for text in row:
            numeric = re.fullmatch(r"[\d.e-]*", text)
            assert numeric or text.lstrip()[0] not in "=+-@|%", text
            assert not re.search(r"[\t\r\n]", text)


# Markdown


ELEMENTS = set("table thead tbody tr th td h2 p strong em ul li".split())  # noqa: SIM905


class Cells(HTMLParser):
    """Text of the cells of tables in HTML, and the elements that were seen."""

    def __init__(self):
        super().__init__()
        self.tables, self.elements, self.inside = [], set(), False

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True
        elif self.inside:
            self.tables[-1][-1][-1] += f"<{tag}>"

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.tables[-1][-1][-1] += data


def test_markdown_reads_back(made):
    _, _, tables = made
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(to_markdown(tables))
    page = Cells()
    page.feed(html)
    assert page.elements <= ELEMENTS
    assert len(page.tables) == len(tables)
    for found, table in zip(page.tables, tables, strict=True):
        assert found[0] == ["Method", "5%", "50%", "all"]
        assert [row[0] for row in found[1:]] == labels(table)
        for texts, row in zip(found[1:], table.rows, strict=True):
            expected = [shown(cell, table, "<strong>{}", "<em>{}") for cell in row.cells]
            assert texts[1:] == expected


def test_markdown_says_what_it_shows(made):
    _, _, tables = made
    text = to_markdown(tables)
    assert text.count("weights picked on the test rows (oracle)") == len(tables)
    assert text.count("over 4 repeats") == len(tables)
    assert text.count("not significantly below") == len(tables)
    assert "printed 0.0307" in text


# LaTeX


ENTITIES = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    "{*}": "*",
    "{[}": "[",
    **{"\\" + c: c for c in "{}$&#_%"},
}


STRUCTURE = {"begin", "end", "par", "centering", "caption", "toprule", "midrule", "bottomrule"}
COMMANDS = STRUCTURE | {"textbf", "textit", "footnotesize", "pm"}


def tokens(text):
    """LaTeX cut into commands, escaped characters and single characters."""
    return re.findall(r"\\[A-Za-z]+\*?|\\.|[^\\]", text, flags=re.DOTALL)


def plain(text):
    """The text that escaped LaTeX prints; fails on anything that is not escaped."""
    pattern = "|".join(map(re.escape, sorted(ENTITIES, key=len, reverse=True)))
    rest = re.sub(pattern, "", text)
    assert not re.search(r"[\\{}$&#_%~^<>|*\[]", rest), rest
    return re.sub(pattern, lambda found: ENTITIES[found[0]], text)


def test_latex_reads_back(made):
    _, _, tables = made
    text = to_latex(tables)
    assert text.startswith("% \\usepackage{booktabs}\n")
    depth, open_environments = 0, []
    pieces = tokens(text.split("\n", 1)[1])
    for i, piece in enumerate(pieces):
        depth += {"{": 1, "}": -1}.get(piece, 0)
        assert depth >= 0
        if piece in (r"\begin", r"\end"):
            name = "".join(pieces[i + 2 : pieces.index("}", i)])
            if piece == r"\begin":
                open_environments.append(name)
            else:
                assert open_environments.pop() == name
    assert depth == 0
    assert open_environments == []
    used = {piece[1:] for piece in pieces if re.match(r"\\[A-Za-z]", piece)}
    assert used <= COMMANDS | {name[1:-2] for name in ENTITIES if name.endswith("{}")}
    bodies = re.findall(r"\\midrule\n(.*?)\\bottomrule", text, flags=re.DOTALL)
    captions = re.findall(r"^\\caption\{(.*)\}$", text, flags=re.MULTILINE)
    columns = re.findall(r"^\\begin\{tabular\}\{(\w+)\}$", text, flags=re.MULTILINE)
    for body, caption, spec, table in zip(bodies, captions, columns, tables, strict=True):
        assert plain(caption) == one_line(table.title) + "."
        assert spec == "lccc"
        lines = body.strip().split("\n")
        assert [plain(line.split(" & ")[0]) for line in lines] == labels(table)
        for line, row in zip(lines, table.rows, strict=True):
            assert line.endswith(r" \\")
            assert len(re.findall(r"(?<!\\)&", line)) == 3
            expected = [
                shown(cell, table, r"\textbf{{{}}}", r"\textit{{{}}}", r"$\pm$")
                for cell in row.cells
            ]
            assert line.removesuffix(r" \\").split(" & ")[1:] == expected


DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs}
\begin{document}
BODY
\end{document}
"""
LATEX = next(filter(shutil.which, ("tectonic", "pdflatex")), None)


@pytest.mark.skipif(LATEX is None, reason="no LaTeX here: neither tectonic nor pdflatex")
def test_latex_compiles(made, tmp_path):
    _, _, tables = made
    body = to_latex(tables)
    options = []
    if LATEX == "pdflatex":
        body = body.replace("\N{SNOWMAN}", "?")  # which its fonts lack
        options = ["-draftmode", "-interaction=nonstopmode", "-halt-on-error"]
    source = tmp_path / "tables.tex"
    source.write_text(DOCUMENT.replace("BODY", body))
    command = [LATEX, *options, source.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


# Odd runs


def test_files(tmp_path):
    results = made_results(tmp_path / "run", values(3), methods=PLAIN, shares=(5.0, 50.0))
    concluded = conclude(results)
    paths = write_tables(results, concluded, tmp_path / "new" / "tables")
    assert [path.name for path in paths] == ["map.csv", "map.tex", "map.md"]
    tables = make_tables(results, concluded)
    expected = [to_csv(tables), to_latex(tables), to_markdown(tables)]
    assert [path.read_text(encoding="utf-8") for path in paths] == expected


def test_one_task_and_one_share_need_neither_mean(tmp_path):
    results = made_results(tmp_path, values(3, n_shares=1, n_tasks=1), methods=PLAIN)
    (table,) = make_tables(results, conclude(results))
    assert table.task == "task 0"
    assert table.shares == (10.0,)


def test_an_interrupted_run_leaves_cells_empty(tmp_path):
    V = values(3, n_repeats=1)
    V[2, 0, 1] = np.nan
    results = made_results(tmp_path, V, methods=PLAIN, shares=(5.0, 50.0))
    *_, mean = make_tables(results, conclude(results))
    assert [cell is None for cell in mean.rows[2].cells] == [False, True, False]
    assert "could not be tested" in mean.legend
    assert {cell.mark for row in mean.rows for cell in row.cells if cell} == {"best", ""}
    assert "±" not in to_markdown([mean])
    assert "| sfmc | " in to_markdown([mean])


def test_other_numbers_of_repeats_are_said(tmp_path):
    V = values(3)
    failed = {(0, repeat, share) for repeat in (1, 2, 3) for share in (0, 1)}
    results = made_results(tmp_path, V, methods=PLAIN, shares=(5.0, 50.0), failed=failed)
    *_, mean = make_tables(results, conclude(results))
    assert mean.n == 4
    line = next(line for line in to_markdown([mean]).splitlines() if "all-features" in line)
    assert line.count("(n = 1)") == 3


def test_no_result_is_a_table_all_the_same(tmp_path):
    results = made_results(tmp_path, np.full((3, 2, 1, 2), np.nan), methods=PLAIN)
    tables = make_tables(results, conclude(results))
    assert not any(cell for table in tables for row in table.rows for cell in row.cells)
    for write in (to_csv, to_latex, to_markdown):
        assert "sfmc" in write(tables)
