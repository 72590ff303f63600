"""Collectives: the name by which older analyses import figures/collective.py."""

from linkscope.figures.collective import PASSES as PASSES
from linkscope.figures.collective import Collective as Collective
