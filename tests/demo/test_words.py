from dataclasses import replace

import numpy as np

from grassvine.demo import Comparison, compared_with_pooled, what_to_see


def test_the_exact_method_is_reported_as_equal_and_the_others_in_per_cent(
    comparison: Comparison,
) -> None:
    assert compared_with_pooled(comparison, "exact") == "equal"
    assert compared_with_pooled(comparison, "alone").endswith("% worse")
    swapped = {**comparison.completed, "gossip": comparison.shares.test.pixels[np.newaxis]}
    assert compared_with_pooled(replace(comparison, completed=swapped), "gossip") == (
        "100.0% better"
    )


def test_one_sentence_summarises_the_demo(comparison: Comparison) -> None:
    sentence = what_to_see(comparison)
    assert compared_with_pooled(comparison, "alone") in sentence
    assert "as well as with pooled data" in sentence
    assert sentence.count(".") == 1 + sentence.count("%")  # of 49.2% and at the end


def test_where_nothing_is_to_be_seen_the_summary_reports_it(comparison: Comparison) -> None:
    same = {**comparison.completed, "alone": comparison.completed["pooled"]}
    assert "agents alone lose little (equal); erase fewer pixels" in what_to_see(
        replace(comparison, completed=same)
    )
