"""Command lines that are refused: the text of each error is recorded."""

from tests.golden.commands import COLUMNS, POPULATION, SEVERAL

_CREATE = f"create predictions.csv {COLUMNS} --budget 9 "
_SEVERAL = f"{SEVERAL} --within 0.1 "
_CUT = "create predictions.csv --id id --score p --budget 99 --threshold-for "
_PLAN = "plan predictions.csv --id id --score p --threshold-for 'precision >= 0.6' "
_SIMULATE = "simulate truth.csv --label is --score p "
_COMPARE = f"compare predictions.csv later.csv {COLUMNS} --budget 9 "
REFUSED = [
    *(_CREATE + words for words in (
        "--design kumar", "--design random --bins 3", "--design recycle --bins 3", "--assume 0.9",
        "--design recycle", "--mode sure", "--mode fixed --design random",
        "--at-least 0.9 --design kumar-raj", "--answers Spam", "--storage sqlite://", "--storage x",
        "--overlap 0.2", "--reviewers-per-item 2", "--reviewers-per-item 2 --overlap 2",
        "--reviewers-per-item 0 --overlap 0.1", "--engine duck", "--table preds",
        "--engine duckdb --spark local[1]", "--labels x.csv", "--gain 0.1",
    )),
    *("create tags.csv --id id --budget 9 " + words for words in (
        "--probabilities q_*", "--probabilities p_* --score p_cs",
        "--classes classes.csv --score p_cs",
        "--predicted id --classes classes.csv", "--predicted id --score p_cs --classes nowhere.csv",
        "--predicted id --score p_cs --metric top-2-accuracy", "--multilabel --probabilities p_*",
        "--multilabel --probabilities p_* --threshold 0.5 --metric precision:c",
    )),
    *(_SEVERAL + words for words in (
        "--score p", "--classifier new=,said", "--classifier x=,votes", "--mode guaranteed",
        "--at-least 0.9", "--labels x.csv", "--positive spam", "--classifier cnn",
        "--classifier p,said", "--classifier cnn=", "--classifier cnn=p", "--classifier a=p,b,c",
        "--classifier cnn=p>=much", "--classifier cnn=p>=", "--classifier cnn=>=0.5",
        "--classifier =p,said", "--classifier 'our cnn=p,said'",
    )),
    *(_CUT + words for words in (
        "'precision > 0.7'", "'precision >= 0.7' --metric recall", "'precision >= 0.7' --bins 8",
        "'precision >= 0.7' --mode fixed", "'precision >= 0.7' --within 0.02",
    )),
    *(_PLAN + words for words in ("--threshold 0.5", "--within 0.1", "--rho 0.5")),
    f"plan predictions.csv {COLUMNS} --gain 0.1",
    f"plan predictions.csv {COLUMNS} --within 0.1 --aux judge --judge-cost 0.01",
    *(_SIMULATE + words for words in (
        "--threshold 0.5", "--threshold 0.5 --within 0.1 --design perc-optt",
        "--threshold 0.5 --within 0.1 --design ,", "--threshold 0.5 --budget 100;200",
        "--threshold 0.5 --within 0.1 --out truth.csv", "--threshold 0.5 --within 0.1 --gain 0.1",
        *(f"--threshold 0.5 --within 0.1 {number}" for number in (
            "--replications 0", "--workers 0", "--seed -1", "--bins 0", "--assume 0.9",
            "--parent new", "--simultaneous", "--curve --design perc-opt",
        )),
        *(f"--threshold-for 'precision >= 0.8' {more}" for more in (
            "--within 0.1 --budget 9", "--threshold 0.5 --budget 9", "--design perc-opt --budget 9",
        )),
    )),
    *(f"{POPULATION} {words}" for words in (
        "--within 0.1 --design perc-opt", "--within 0.1 --design ,", "--within 0.1 --classifier x",
        "--within 0.1 --score p", "--at-least 0.9",
    )),
    *(_COMPARE + words for words in (
        "--labels-from nobody", "--labels-from x --aux judge",
        "--engine database --table a --table b --table c",
    )),
    "compare predictions.csv later.csv --budget 9 --score p --threshold 0.5",
    f"compare predictions.csv predictions.csv {COLUMNS} --budget 9",
    f"compare - later.csv {COLUMNS} --budget 9",
    f"compare - - {COLUMNS} --budget 9 --spark local[2] --table a",
    f"compare - later.csv {COLUMNS} --budget 9 --spark local[2]",
    "follow predictions.csv --series s",
    f"follow predictions.csv --series s --period w1 {COLUMNS} --aux judge --change-within 0.1",
    *(f"connect x {words}" for words in (
        "", "--token-file nowhere", "--token-file token --webhook 8099",
        "--token-file token --webhook 0.0.0.0:0", "--token-file token --to ftp://a",
        "--token-file token --webhook-url http://a", "--token-file token --rename 5",
    )),
    *(f"export x {words}" for words in (
        "--what lables", "--what batch --size 0", "-o no/such/folder.csv", "--format doccano",
        "--reviewer ann", "--what batch --hold 1h", "--what batch --reviewer a --hold 1",
        "--config c.xml",
    )),
    *(f"import x {words}" for words in (
        "", "predictions.csv --format json", "labels.csv --rename ann",
        "labels.csv --rename x=ann --rename x=bob", "labels.csv --judge judge.jsonl",
        "labels.csv --into v.parquet", "--judge judge.jsonl --revise",
        "--judge judge.jsonl --into v.csv", "--judge judge.jsonl --column subject",
    )),
    *(f"report x {words}" for words in (
        "-o a.md -o a.docx", "-o nowhere/a.md", "-o a.md --bundle assay.db", "--format markdwn",
        "--format html -o a.html",
    )),
    *(f"serve {words}" for words in (
        "ham", "x --link subjct", "x --image p", "x --guidelines nowhere.txt", "x --lease 1",
        "x --as subject=markdwn", "x --as subject",
    )),
    *(f"{words} --storage sqlite:///assay.db" for words in (
        "backup -o b.db", "backup x --all -o b.db", "backup campaing -o b.db",
        "backup --all -o no/such/b.db", "backup --all -o labels.csv", "restore labels.csv",
        "verify x --against nothing.db", "verify labels.zip --against labels.csv",
    )),
    "create predictions.csv --id id --score p --predicted said --budget 9",
    f"estimate classes.csv --predictions predictions.csv {COLUMNS}",
    "status x --classes", "status --classes", "errors x --by lang", "demo --seed -1",
    "curve x --at 7", "curve x -o c.pdf",
]  # fmt: skip
