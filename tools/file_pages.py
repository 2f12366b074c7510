"""Tables of docs/lab-file.md and docs/study-file.md: a section for each model, in nesting order."""

from __future__ import annotations

import re
from textwrap import wrap

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from delaylab.spec.base import FromFile, Shorthand
from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.lab import LabSpec
from delaylab_study.study_file.model import StudySpec
from tools.field_tables import fields, left_out, models, row_of, table_of, type_words, word
from tools.file_examples import EXAMPLES

LAB_PAGE, STUDY_PAGE = "lab-file.md", "study-file.md"


def file_page(page: str) -> str:
    """Return the generated part of one of the two pages."""
    return "\n\n".join(section(model, page) for model in parts()[page])


def parts() -> dict[str, list[type[BaseModel]]]:
    """Return the models of each page; what a study shares with a lab is on the lab's page."""
    of_labs = list(models(LabSpec, without=Conditions))
    of_both = models(LabSpec, StudySpec, without=Conditions)
    return {LAB_PAGE: of_labs, STUDY_PAGE: [model for model in of_both if model not in of_labs]}


def section(model: type[BaseModel], page: str) -> str:
    """Return the section of a model: its meaning, its fields, an example."""
    meaning = " ".join((model.__doc__ or "").split())
    if issubclass(model, Shorthand) and " alone " not in meaning:
        meaning += f" A value alone is its `{_main(model)}`."
    meaning = "\n".join(wrap(meaning, 100, break_on_hyphens=False))
    rows = [
        row_of(f"`{name}`", _value(field, page), left_out(field), field.description or "")
        for name, field in fields(model)
    ]
    table = table_of(("field", "value", "left out", "meaning"), rows)
    return f"## {heading(model)}\n\n{meaning}\n\n{table}\n\n```yaml\n{EXAMPLES[model]}```"


def heading(model: type[BaseModel]) -> str:
    """Return the title of a model's section."""
    return word(model).capitalize().replace("Gilbert elliott", "Gilbert-Elliott")


def _main(model: type[Shorthand]) -> str:
    return model.model_fields[model.MAIN].alias or model.MAIN


def _value(field: FieldInfo, page: str) -> str:
    words = type_words(field.annotation, linked=True).removesuffix(" or null")
    if FromFile in field.metadata:
        words = f"file, or {words}"
    if page == STUDY_PAGE:
        elsewhere = {word(model).replace(" ", "-") for model in parts()[LAB_PAGE]}
        words = re.sub(
            r"\(#([\w-]+)\)",
            lambda found: f"({LAB_PAGE}#{found[1]})" if found[1] in elsewhere else found[0],
            words,
        )
    return re.sub(r"(?<=list of )(integer|number)$", r"\1s", words) + _range(field)


def _range(field: FieldInfo) -> str:
    """Return the bounds of a whole number, inclusive: `, 1 to 64`."""
    least: int | None = None
    most: int | None = None
    for bound in field.metadata:
        match bound:
            case Ge(ge=int(value)):
                least = value
            case Gt(gt=int(value)):
                least = value + 1
            case Le(le=int(value)):
                most = value
            case Lt(lt=int(value)):
                most = value - 1
    if least is None:
        return ""
    return f", at least {least}" if most is None else f", {least} to {_number(most)}"


def _number(value: int) -> str:
    return "2⁶³ − 1" if value == 2**63 - 1 else f"{value:,}".replace(",", " ")
