"""The main job in a minute, on data that the package generates."""

from assay.demo.population import Population, make_population
from assay.demo.run import DemoResult, Watcher, run

__all__ = ["DemoResult", "Population", "Watcher", "make_population", "run"]
