"""How a target comes about, given the function: normally, as yes or no, as a count, or with outliers."""

from termwise.likelihoods.base import Expected, Likelihood, Tilted
from termwise.likelihoods.bernoulli import Logit, Probit
from termwise.likelihoods.gaussian import Gaussian
from termwise.likelihoods.poisson import Poisson
from termwise.likelihoods.student import Student

__all__ = ["Expected", "Gaussian", "Likelihood", "Logit", "Poisson", "Probit", "Student", "Tilted"]
