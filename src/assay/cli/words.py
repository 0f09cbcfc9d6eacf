"""Words of the command line: what messages call an argument in Python is an option here."""

import ast
import re
import shlex

from assay.errors import AssayError

# Options that are not called as the argument is, with hyphens.
_OTHERWISE = {
    "slices": "--slice",
    "classifiers": "--classifier",
    "metrics": "--metric",
    "classes": "--classes",
}
_SAME = """
    score predicted id threshold positive score_of scale show sample_weight metric within
    level_within change_within budget floor confidence at_least threshold_for gain sample_of
    simultaneous question reviewers_per_item overlap answers names name storage seed where table
    engine spark check_ids encoding map rename revise format reviewer previous id_column
    label_column reviewer_column comment_column bins mode replications like label labels
    labels_from aux learned_from at by scorer verdict_column score_column judge_cost label_cost
    rho into column design strata allocation parent assume classifier probabilities multilabel
"""
_OPTIONS = {**{name: f"--{name.replace('_', '-')}" for name in _SAME.split()}, **_OTHERWISE}
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"{_TEXT}|\[[^\]]*\]|\{{.*?\}}\}}|\{{[^}}]*\}}|\([^)]*\)|\.\.\.|-?[\w.]*\w"
# What is written in another way than in Python, but for a text.
_OF_THEIR_OWN = {"--classifier": "NAME=SCORE,PREDICTED", "--classes": "FILE"}
_QUOTES = "'\""
_ARGUMENT = re.compile(rf"(?<![\w.\-'\"/`=])({'|'.join(_OPTIONS)})=({_VALUE})?")
_REBASE = re.compile(rf"rebase_campaign\(({_TEXT}), predictions=\.\.\.\)")


def in_options(text: str) -> str:
    """Return a message with options in place of arguments.

    >>> in_options("say positive='yes' or show=['a b', 'c']")
    "say --positive yes or --show 'a b' --show c"
    >>> in_options("threshold=0.5 is given without score=")
    '--threshold 0.5 is given without --score'
    >>> in_options("give all classes: classes=['...', '...']; or probabilities='p_*'")
    "give all classes: --classes FILE; or --probabilities 'p_*'"
    """
    text = _REBASE.sub(lambda found: f"assay rebase FILE --name {_shell(found[1])}", text)
    text = text.replace("predictions=[", "FILE for each of [").replace("predictions=", "FILE ")
    return _ARGUMENT.sub(_option, text)


def with_options(error: AssayError) -> tuple[str, str, str]:
    """Return what an error says, in the words of the command line."""
    problem, details, hint = (
        in_options(text) for text in (error.problem, error.details, error.hint)
    )
    return problem, details, hint


def _option(found: re.Match[str]) -> str:
    option, value = _OPTIONS[found[1]], found[2]
    if option in _OF_THEIR_OWN and not (value and value[0] in _QUOTES):
        return f"{option} {_OF_THEIR_OWN[option]}" if value else option
    if value is None or value == "True":
        return option
    if value[0] in "[({":
        try:
            if value[0] == "{":
                pairs = ast.literal_eval(value).items()
                return " ".join(f"{option} {_quoted(f'{word}={said}')}" for word, said in pairs)
            return " ".join(f"{option} {_quoted(each)}" for each in ast.literal_eval(value))
        except (ValueError, SyntaxError, TypeError, AttributeError):
            return f"{option} {value}"
    return f"{option} {_shell(value)}"


def _shell(value: str) -> str:
    """Return a value that is written as in Python as a shell has it."""
    if value[0] not in "'\"":
        return value
    try:
        return _quoted(ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return value


def _quoted(value: object) -> str:
    text = str(value)
    if "'" in text and not set(text) & set('"$`\\!'):
        return f'"{text}"'  # as people would write it
    return shlex.quote(text)
