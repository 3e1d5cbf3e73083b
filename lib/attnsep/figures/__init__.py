"""Every picture of the book, in one grammar.

`grammar` says what colours, dashes and words mean, `plots` draws what several pages need, and `pictures` the few that
carry the book.
"""

from attnsep.figures.grammar import Band, Curve, Histogram, Region, Rule, Spot, Window
from attnsep.figures.pictures import (
    areas,
    boxes,
    circle,
    crowd,
    datasets,
    eight_patterns,
    four_layers,
    in_a_crowd,
    kronecker,
    one_pass,
    pairs_that_come_back,
    placed,
    proportions,
)
from attnsep.figures.plots import Map, chart, firing_dots, forest, heat_maps, images, level_maps, matrices

__all__ = [
    "Band",
    "Curve",
    "Histogram",
    "Map",
    "Region",
    "Rule",
    "Spot",
    "Window",
    "areas",
    "boxes",
    "chart",
    "circle",
    "crowd",
    "datasets",
    "eight_patterns",
    "firing_dots",
    "forest",
    "four_layers",
    "heat_maps",
    "images",
    "in_a_crowd",
    "kronecker",
    "level_maps",
    "matrices",
    "one_pass",
    "pairs_that_come_back",
    "placed",
    "proportions",
]
