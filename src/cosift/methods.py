"""A method from a line of text: one of ours by name, or one from any installed package.

    spec                                                      ours
    spec(function='phi3', n_neighbors=10)                     ours, with parameters
    sklearn.feature_selection:SelectKBest(score_func=chi2)    a class, called with parameters
    sklearn.ensemble:RandomForestClassifier                   a class, called without
    sklearn.feature_selection:mutual_info_classif             a score function

What text can do is limited to what a comparison needs.  It is parsed, never evaluated.

- Values are constants, lists, tuples and dicts of values, names, and calls of estimator classes.
- Before the colon stands a module to import.  Importing runs the module's code, as ``import``
  does: that it is named here, in full, and installed is the user's word for it.
- After it, names mean public members of that module, then scikit-learn's public estimators and
  functions.  There are no attributes, operators, subscripts or names with a leading underscore.
- Only classes of estimators (with ``fit``, ``get_params`` and ``set_params``) are called, by
  keyword or position, and only they and functions that can be called with ``X`` and ``y`` alone
  can be named.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from sklearn.utils.discovery import all_estimators, all_functions

from cosift.selectors._base import TaskSelector
from cosift.selectors.foreign import ForeignSelector

__all__ = ["make_method", "method_names", "seeded"]

# Names in `cosift`, which is asked for them only when one is made.
METHODS = {
    "sfmc": "SFMC",
    "sfss": "SFSS",
    "fssi": "FSSI",
    "l21-least-squares": "L21LeastSquares",
    "fsnm": "FSNM",
    "fisher-score": "FisherScore",
    "spec": "SPEC",
    "lsdf": "LSDF",
    "all-features": "AllFeatures",
}
OURS = re.compile(r"\s*(?P<name>[\w-]+)\s*(?P<call>\(.*\))?\s*", re.DOTALL)
MODULE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*", re.ASCII)
# The parser recurses; no method needs as much text.
LONGEST = 2_000


def method_names() -> list[str]:
    """Names of our own methods.

    Examples
    --------
    >>> "fisher-score" in method_names()
    True
    """
    return list(METHODS)


def make_method(text: str) -> TaskSelector:
    """Make a selector from a line of text; the module's text says what it may hold.

    Parameters
    ----------
    text : str
        ``name``, ``name(parameter=value, ...)``, ``package.module:Name`` or
        ``package.module:Name(parameter=value, ...)``.

    Returns
    -------
    TaskSelector
        Ours as it is; anything else in a `ForeignSelector`.

    Raises
    ------
    ValueError
        If the text cannot be read so, with what would do.

    Examples
    --------
    >>> make_method("spec(function='phi3')")
    SPEC(function='phi3')
    >>> make_method("sklearn.feature_selection:SelectKBest(score_func=chi2)").estimator.score_func
    <function chi2 at 0x...>
    """
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST:
        what = f"{len(text)} characters" if isinstance(text, str) else repr(text)
        raise ValueError(f"A method must be named by 1 to {LONGEST} characters. Got {what}.")
    module, colon, rest = text.partition(":")
    try:
        if colon and MODULE.fullmatch(module.strip()):
            return _foreign(module.strip(), rest.strip(), text)
        return _own(text)
    except RecursionError:
        _refuse(text, "it is nested too deeply")


def seeded(method: TaskSelector, seed: int) -> TaskSelector:
    """Set every ``random_state`` that a method leaves open, also of its parts and score functions.

    Parameters
    ----------
    method : TaskSelector
        What to set them on.
    seed : int
        What to set them to.

    Returns
    -------
    TaskSelector
        The method itself.

    Examples
    --------
    >>> forest = make_method("sklearn.ensemble:RandomForestClassifier")
    >>> seeded(forest, 3).estimator
    RandomForestClassifier(random_state=3)
    """
    for name, value in method.get_params().items():
        if name.split("__")[-1] == "random_state" and value is None:
            method.set_params(**{name: seed})
        elif isinstance(value, (FunctionType, partial)):
            state = inspect.signature(value).parameters.get("random_state")
            if state is not None and state.default is None:
                method.set_params(**{name: partial(value, random_state=seed)})
    return method


def _own(text: str) -> TaskSelector:
    parts = OURS.fullmatch(text)
    name = parts["name"] if parts else text
    if name not in METHODS:
        close = get_close_matches(name.lower().replace("_", "-"), METHODS, n=1, cutoff=0.5)
        raise ValueError(
            f"No method is named {name!r}."
            + (f" Did you mean {close[0]!r}?" if close else "")
            + f" Methods: {', '.join(METHODS)}; or one from a package, as in "
            "'sklearn.feature_selection:SelectKBest(score_func=chi2)'."
        )
    found = getattr(importlib.import_module("cosift"), METHODS[name], None)
    if found is None:
        raise ValueError(f"This version of cosift does not have the method {name!r}.")
    call = _parse(f"method{parts['call'] or '()'}", text) if parts else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        _refuse(text, f"{name!r} takes parameters once, in parentheses")
    method: TaskSelector = _Reader(text, None).construct(found, call)
    return method


def _foreign(module: str, expression: str, text: str) -> TaskSelector:
    reader = _Reader(text, _import(module, text))
    node = _parse(expression, text)
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    if not isinstance(call.func, ast.Name):
        _refuse(text, "after the colon there must be a name, or a name with parameters")
    target = reader.named(call.func.id)
    bind = reader.construct if isinstance(target, type) else reader.bind
    return ForeignSelector(bind(target, call))


def _import(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # whatever the module does
        _refuse(text, f"the module {name!r} cannot be imported ({error})")


class _Reader:
    """Values from syntax trees, in the light of one module."""

    def __init__(self, text: str, module: ModuleType | None) -> None:
        self._text = text
        self._module = module

    def construct(self, found: type, call: ast.Call) -> Any:
        """Call an estimator class with the arguments of a call."""
        arguments = [self.value(argument) for argument in call.args]
        keywords = self._keywords(call)
        try:
            return found(*arguments, **keywords)
        except Exception as error:  # whatever the class raises
            self._refuse_parameters(found, error)

    def bind(self, function: Callable[..., Any], call: ast.Call) -> Any:
        """A score function with the keywords of a call for its parameters beyond X and y."""
        if call.args:
            _refuse(self._text, "a score function gets parameters by keyword, X and y from data")
        keywords = self._keywords(call)
        try:
            inspect.signature(function).bind("X", "y", **keywords)
        except TypeError as error:
            self._refuse_parameters(function, error)
        return partial(function, **keywords) if keywords else function

    def _refuse_parameters(self, found: Any, error: Exception) -> NoReturn:
        known = ", ".join(inspect.signature(found).parameters) or "none"
        _refuse(self._text, f"{found.__name__} has the parameters {known} ({error})")

    def _keywords(self, call: ast.Call) -> dict[str, Any]:
        names = [keyword.arg for keyword in call.keywords]
        if None in names or len(set(names)) < len(names):
            _refuse(self._text, "every parameter must be written out, once")
        return {str(keyword.arg): self.value(keyword.value) for keyword in call.keywords}

    def value(self, node: ast.expr | None) -> Any:
        """A constant, a collection of values, what a name means, or an estimator."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.List(elts=items):
                return [self.value(item) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self.value(item) for item in items)
            case ast.Dict(keys=keys, values=values):
                if not all(isinstance(key, ast.Constant) for key in keys):
                    _refuse(self._text, "the keys of a dict must be numbers or strings")
                pairs = zip(keys, values, strict=True)
                return {self.value(key): self.value(value) for key, value in pairs}
            case ast.Name(id=name):
                return self.named(name)
            case ast.Call(func=ast.Name(id=name)):
                found = self.named(name)
                if not isinstance(found, type):
                    _refuse(self._text, f"{name} is a function, and only classes are called")
                return self.construct(found, node)
        _refuse(
            self._text,
            "values must be numbers, strings, True, False, None, names, lists, tuples and dicts "
            f"of these, or calls of estimator classes; there is {type(node).__name__}",
        )

    def named(self, name: str) -> Any:
        """An estimator class or a score function by its name."""
        if self._module is None:
            _refuse(self._text, f"{name!r} is not a value; a string needs quotation marks")
        if name.startswith("_"):
            _refuse(self._text, f"{name!r} is private")
        try:
            found = getattr(self._module, name)
        except Exception:  # whatever the module's own __getattr__ raises
            found = _public_in_scikit_learn().get(name)
        if found is None:
            public = [other for other in dir(self._module) if not other.startswith("_")]
            close = get_close_matches(name, public, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            where = f"{self._module.__name__!r} nor scikit-learn"
            _refuse(self._text, f"neither {where} has {name!r}{hint}")
        if not (_is_estimator_class(found) or _is_score_function(found)):
            _refuse(
                self._text,
                f"{name!r} is neither a class of estimators (with fit, get_params and "
                "set_params) nor a function that needs X and y alone",
            )
        return found


def _public_in_scikit_learn() -> dict[str, Any]:
    return dict(all_functions()) | dict(all_estimators())


def _is_estimator_class(found: Any) -> bool:
    needed = ("fit", "get_params", "set_params")
    return isinstance(found, type) and all(callable(getattr(found, name, None)) for name in needed)


def _is_score_function(found: Any) -> bool:
    if not inspect.isfunction(found):
        return False
    parameters = inspect.signature(found).parameters
    needed = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    return list(parameters)[:2] == ["X", "y"] and set(needed) <= {"X", "y"}


def _parse(expression: str, text: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        _refuse(text, f"it cannot be parsed ({error})")


def _refuse(text: str, why: str) -> NoReturn:
    raise ValueError(f"Cannot make a method of {text!r}: {why}.")
