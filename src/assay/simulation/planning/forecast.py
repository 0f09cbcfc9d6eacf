"""Forecast of a new campaign's labels, kept with it: `assay status` shows it before any answer."""

from assay.campaign import Campaign, with_forecast
from assay.core.design import Design
from assay.errors import AssayError
from assay.results import Forecast
from assay.simulation.planning.advice import Costs
from assay.simulation.planning.assumed import Supposed

_REPLICATIONS = 12  # people wait for them


def forecast(campaign: Campaign) -> Campaign:
    """Forecast the labels that a new campaign takes if its scores are calibrated, and store it.

    The campaign stays as it is if the scores do not say: with other goals than a width, several
    metrics, classes, weights, labels from before, second opinions, and designs whose replay takes
    long.

    >>> import assay, numpy as np
    >>> score = np.random.default_rng(0).beta(4, 1, 20_000)
    >>> campaign = assay.create_campaign({"p": score}, score="p", threshold=0.5, within=0.05)
    >>> forecast(campaign).settings.forecast
    Forecast(labels=210, random=250, items=18750)
    """
    settings = campaign.settings
    goal, source = settings.goal, settings.source
    simple = goal.single and settings.is_binary and not settings.strata.weighted
    beside = source.aux or settings.prior or goal.sample_of or settings.design.bets
    if not simple or goal.within is None or not source.has_score or beside:
        return campaign
    costs = Costs(_REPLICATIONS, seed=0)
    try:
        supposed = Supposed.of(campaign.desk.labelling.predictions(), source.scale).calibrated()
        items = supposed.trial(settings.design, goal).items
        ours = costs.labels(supposed, settings.design, goal)
        random = costs.labels(supposed, Design.simple_random(), goal)
    except AssayError:  # the campaign does not depend on it
        return campaign
    return with_forecast(campaign, Forecast.rounded(ours.mean, random.mean, items))
