"""The error tree: drawn in the docstring, caught by one root, no name missing."""

import inspect
import re

import pytest

from niulab import errors

CLASSES = [
    value
    for value in vars(errors).values()
    if inspect.isclass(value)
    and issubclass(value, Exception)
    and value.__module__ == "niulab.errors"
]


def test_the_docstring_draws_the_tree():
    drawn = dict(re.findall(r"^ +(\w+Error) +\((\w+)\)", errors.__doc__, flags=re.MULTILINE))
    leaves = [error for error in CLASSES if error is not errors.NiuLabError]
    assert drawn == {error.__name__: error.__bases__[1].__name__ for error in leaves}


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_caught_by_the_root(error):
    with pytest.raises(errors.NiuLabError):
        raise error("what, what was got, what to write instead")


def test_all_equals_the_public_names():
    own = [
        name
        for name, value in vars(errors).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == "niulab.errors"
    ]
    assert sorted(errors.__all__) == sorted(own)


def test_nearest_names_one_or_lists_all():
    assert errors.nearest("singel", ["double", "single"]) == "; did you mean 'single'?"
    assert errors.nearest("xyz", ["double", "single"]) == "; known: double, single"
    assert errors.nearest("xyz", []) == "; known: "
