"""Pages of the API: one per public module, from what it exports; autosummary adds one per name."""

import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from public_names import MODULES, is_documented, public_names
from sphinx.application import Sphinx
from sphinx.config import Config


def setup(app: Sphinx) -> dict[str, object]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def is_left_out(
    app: Sphinx, what: str, name: str, value: object, skip: bool, options: object
) -> bool | None:
    """Leave out what estimators have from scikit-learn, which describes it."""
    inherited = str(getattr(value, "__module__", "")).startswith("sklearn")
    return True if inherited or name.endswith("_request") else None


def write_pages(app: Sphinx, config: Config) -> None:
    """Write one page per module, if it has changed."""
    folder = Path(app.srcdir) / "api"
    names = public_names()
    lines = ["API", "===", "", *_toctree([_file(module) for module in MODULES])]
    _write(folder / "index.rst", lines)
    for module, own in names.items():
        others = [name for name in import_module(module).__all__ if name not in own]
        _write(folder / f"{_file(module)}.rst", _page(module, own, others))


def _page(module: str, own: dict[str, object], others: list[str]) -> list[str]:
    documented = [name for name, value in own.items() if is_documented(value)]
    title = f"{MODULES[module]}: {module}"
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    groups = {
        "Classes": [name for name in documented if _is_plain_class(own[name])],
        "Functions": [name for name in documented if inspect.isfunction(own[name])],
        "Errors and warnings": [name for name in documented if _is_error(own[name])],
    }
    lines += [(inspect.getdoc(import_module(module)) or "").split("\n\n>>>")[0], ""]
    for group, names in groups.items():
        if names:
            lines += [group, "-" * len(group), "", ".. autosummary::", "   :toctree: names", ""]
            lines += [*(f"   {name}" for name in names), ""]
    values = [name for name in own if name not in documented]
    if values:
        lines += ["Types and constants", "-------------------", ""]
        lines += [line for name in values for line in _described(name, own[name])]
    elsewhere = [name for name in others if not inspect.ismodule(_value(module, name))]
    if elsewhere:
        links = (f":obj:`{name} <{_home(_value(module, name))}>`" for name in elsewhere)
        lines += ["Also exported here: " + ", ".join(links) + ".", ""]
    return lines


def _described(name: str, value: object) -> list[str]:
    """Describe what has no docstring: a mapping by its keys, and a type by what it stands for."""
    if isinstance(value, Mapping):
        text = f"A mapping with the keys {', '.join(f'``{key}``' for key in value)}."
    else:
        text = (
            f"Stands for ``{str(value).replace('typing.', '').replace('collections.abc.', '')}``."
        )
    return [f".. py:data:: {name}", "", f"   {text}", ""]


def _is_error(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _is_plain_class(value: object) -> bool:
    return inspect.isclass(value) and not _is_error(value)


def _value(module: str, name: str) -> object:
    return getattr(import_module(module), name)


def _home(value: object) -> str:
    """Return the full name under which an object is documented."""
    for module, names in public_names().items():
        for name, other in names.items():
            if other is value:
                return f"{module}.{name}"
    raise ValueError(f"{value} is not public")


def _file(module: str) -> str:
    return module.removeprefix("grassvine.")


def _toctree(entries: list[str]) -> list[str]:
    return [".. toctree::", "   :maxdepth: 1", "", *(f"   {entry}" for entry in entries), ""]


def _write(path: Path, lines: list[str]) -> None:
    text = "\n".join(lines)
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
