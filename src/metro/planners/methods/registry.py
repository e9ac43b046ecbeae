"""Finds the methods: every module of this package that defines a `Method`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from metro.errors import BenchmarkError
from metro.planners import methods as package
from metro.planners.methods.method import Method

_registered: list[Method] = []


def register(method: Method) -> Method:
    """Add a method that is defined elsewhere, for this process; return it."""
    _registered.append(method)
    # Else a method that is added after the first look would not be found.
    methods.cache_clear()
    return method


@cache
def methods() -> tuple[Method, ...]:
    """Return all methods in the order of the tables."""
    # Imported by name, not listed: a new file is a new method, and nothing else.
    found = list(_registered)
    for module in iter_modules(package.__path__):
        values = vars(import_module(f"{package.__name__}.{module.name}")).values()
        found += [value for value in values if isinstance(value, Method)]
    # A module may import the method of another one: each counts once.
    return tuple(sorted(dict.fromkeys(found), key=lambda method: method.order))


def find_method(name: str) -> Method:
    """Return the method called ``name``, or by one of its other names."""
    for method in methods():
        if name in (method.name, *method.aliases):
            return method
    known = ", ".join(method.name for method in methods())
    raise BenchmarkError(f"method must be one of {known}, got {name!r}.")


def method_names(
    *,
    needs_graph: bool | None = None,
    needs_model: bool | None = None,
    needs_macro: bool | None = None,
    has_plans: bool | None = None,
) -> tuple[str, ...]:
    """Return the names of all methods that need what is given; None: either."""
    return tuple(
        method.name
        for method in methods()
        if needs_graph in (None, method.needs_graph)
        and needs_model in (None, method.needs_model)
        and needs_macro in (None, method.needs_macro)
        and has_plans in (None, method.has_plans)
    )
