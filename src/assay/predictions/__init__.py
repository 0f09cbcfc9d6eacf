"""Predictions: one contract, and the engines and readers behind it."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.predictions.class_values import sorted_texts
    from assay.predictions.classes import (
        are_classes,
        class_names,
        column_names,
        find_classes,
        is_of_classes,
    )
    from assay.predictions.contract import (
        OF_SEVERAL,
        RANKED,
        Card,
        ClassScored,
        ClassScores,
        Found,
        IdKind,
        Predictions,
        Ranking,
        Weighing,
        joint_fingerprint,
        known_again,
        listed,
    )
    from assay.predictions.databases.which import has_tables
    from assay.predictions.doubts import Doubt
    from assay.predictions.duckdb.joined import joined_with
    from assay.predictions.engine import telling_notes, telling_progress
    from assay.predictions.given_classes import Given, read_given
    from assay.predictions.judgements import Classifiers, as_mappings
    from assay.predictions.keys import IdColumns, key_name, shown_with
    from assay.predictions.label_sets import find_labels
    from assay.predictions.labelled import Labelled, read_labelled
    from assay.predictions.memory import MemoryPredictions
    from assay.predictions.opinions import Opinionated, bound_seed, fold_of
    from assay.predictions.pair import (
        NOWHERE,
        Compared,
        ComparedPredictions,
        code_of_both,
        said_by_both,
    )
    from assay.predictions.read import engine_of, from_arrays, read_predictions
    from assay.predictions.read_pair import parts_in, read_compared, stays_in_place
    from assay.predictions.roles import (
        SCORE_SCALES,
        SCORES_OF,
        STAR,
        Roles,
        ScoreOf,
        ScoreScale,
        fits_pattern,
        refuse_bad_show,
        refuse_improbable,
        score_name,
    )
    from assay.predictions.scan import ENGINES, Engine, Scan, as_scan
    from assay.predictions.union import (
        Top,
        UnionPredictions,
        as_it_is_now,
        merge,
    )
    from assay.predictions.values import slice_text
else:
    __getattr__ = on_demand(
        __name__,
        {
            "class_values": "sorted_texts",
            "classes": "are_classes class_names column_names find_classes is_of_classes",
            "contract": (
                "RANKED Card ClassScored ClassScores Found IdKind Predictions Ranking "
                "OF_SEVERAL Weighing joint_fingerprint known_again listed"
            ),
            "databases.which": "has_tables",
            "doubts": "Doubt",
            "duckdb.joined": "joined_with",
            "engine": "telling_notes telling_progress",
            "given_classes": "Given read_given",
            "judgements": "Classifiers as_mappings",
            "keys": "IdColumns key_name shown_with",
            "label_sets": "find_labels",
            "labelled": "Labelled read_labelled",
            "memory": "MemoryPredictions",
            "opinions": "Opinionated bound_seed fold_of",
            "pair": "NOWHERE Compared ComparedPredictions code_of_both said_by_both",
            "read": "engine_of from_arrays read_predictions",
            "read_pair": "parts_in read_compared stays_in_place",
            "roles": (
                "SCORE_SCALES SCORES_OF STAR Roles ScoreOf ScoreScale refuse_bad_show "
                "refuse_improbable score_name fits_pattern"
            ),
            "scan": "ENGINES Engine Scan as_scan",
            "union": "Top UnionPredictions as_it_is_now merge",
            "values": "slice_text",
        },
    )

__all__ = [
    "ENGINES",
    "NOWHERE",
    "OF_SEVERAL",
    "RANKED",
    "SCORES_OF",
    "SCORE_SCALES",
    "STAR",
    "Card",
    "ClassScored",
    "ClassScores",
    "Classifiers",
    "Compared",
    "ComparedPredictions",
    "Doubt",
    "Engine",
    "Found",
    "Given",
    "IdColumns",
    "IdKind",
    "Labelled",
    "MemoryPredictions",
    "Opinionated",
    "Predictions",
    "Ranking",
    "Roles",
    "Scan",
    "ScoreOf",
    "ScoreScale",
    "Top",
    "UnionPredictions",
    "Weighing",
    "are_classes",
    "as_it_is_now",
    "as_mappings",
    "as_scan",
    "bound_seed",
    "class_names",
    "code_of_both",
    "column_names",
    "engine_of",
    "find_classes",
    "find_labels",
    "fits_pattern",
    "fold_of",
    "from_arrays",
    "has_tables",
    "is_of_classes",
    "joined_with",
    "joint_fingerprint",
    "key_name",
    "known_again",
    "listed",
    "merge",
    "parts_in",
    "read_compared",
    "read_given",
    "read_labelled",
    "read_predictions",
    "refuse_bad_show",
    "refuse_improbable",
    "said_by_both",
    "score_name",
    "shown_with",
    "slice_text",
    "sorted_texts",
    "stays_in_place",
    "telling_notes",
    "telling_progress",
]
