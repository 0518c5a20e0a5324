"""The models of all sources: what authors may write, with the words that explain it.

The JSON Schemas of the sources are made from them (`python -m course.read.export`), and a model is
built only from data that passed its schema. A type or model with a title of its own is a shared
definition of the schemas; one without stands where it is used.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema

from course.read.files import LESSON_KIB, MEDIA_KIB

T = TypeVar("T")

PAGE_KIB: Final = 256
_ONE_LINE: Final = r"^[^\r\n]+$"
_HOST: Final = r"^https://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
_CORE: Final = r"(0|[1-9][0-9]*)"


class Model(BaseModel):
    """A frozen record with camelCase names outside; built only from data that passed its schema."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, allow_inf_nan=False, defer_build=True
    )


class _NeverNull:
    """Makes an optional field absent or valid: a written-out null is refused."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        nullable = handler(source)
        return nullable["schema"] if nullable["type"] == "nullable" else nullable


Maybe = Annotated[T | None, _NeverNull()]


# -- texts ------------------------------------------------------------------------------------


def _line(title: str, description: str, low: int, high: int) -> FieldInfo:
    """A text on one line of *low* to *high* characters."""
    field: FieldInfo = Field(
        title=title,
        description=description,
        min_length=low,
        max_length=high,
        pattern=_ONE_LINE,
    )
    return field


def _id(title: str, description: str, joiner: str) -> FieldInfo:
    """Lower-case words with *joiner* between them."""
    field: FieldInfo = Field(
        title=title,
        description=description,
        min_length=3,
        max_length=64,
        pattern=rf"^[a-z][a-z0-9]*({joiner}[a-z0-9]+)*$",
    )
    return field


Id = Annotated[str, _id("Id", "Lower-case words joined by hyphens, 3 to 64 characters.", "-")]
ConceptId = Annotated[
    str,
    _id(
        "Concept id",
        "Lower-case words joined by underscores, 3 to 64 characters.",
        "_",
    ),
]
Title = Annotated[str, _line("Title", "One line of plain text, 3 to 90 characters.", 3, 90)]
Summary = Annotated[
    str,
    _line(
        "Summary",
        "One line of 20 to 200 characters, used in lists, in search and in llms.txt.",
        20,
        200,
    ),
]
Text = Annotated[
    str,
    _line(
        "Text",
        "One line of plain text with inline code and emphasis only, up to 300 characters.",
        1,
        300,
    ),
]
LongText = Annotated[
    str,
    _line(
        "Long text",
        "One line of plain text with inline code and emphasis only, up to 600 characters.",
        1,
        600,
    ),
]
Objective = Annotated[
    str,
    _line(
        "Objective",
        "What the learner can do afterwards: one line of 8 to 160 characters.",
        8,
        160,
    ),
]
Word = Annotated[str, _line("Word", "One line, up to 300 characters.", 1, 300)]
Prose = Annotated[
    str,
    Field(
        title="Prose",
        description="Text that may have line breaks and paragraphs, up to 2,000 characters.",
        min_length=1,
        max_length=2000,
    ),
]
Explanation = Annotated[
    str,
    Field(
        title="Explanation",
        description="Why the answer is right: 20 to 2,000 characters, line breaks allowed.",
        min_length=20,
        max_length=2000,
    ),
]
HttpsUrl = Annotated[
    str,
    Field(
        title="https address",
        description="An absolute https address without credentials; characters outside ASCII are "
        "percent-encoded.",
        max_length=500,
        pattern=_HOST + r"([/?#][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*)?$",
    ),
]
BaseUrl = Annotated[
    str,
    Field(
        title="Base address",
        description="An absolute https address without credentials, query or fragment.",
        max_length=500,
        pattern=_HOST + r"(/[A-Za-z0-9._~%/-]*)?$",
    ),
]
LanguageTag = Annotated[
    str,
    Field(
        title="Language tag",
        description="A BCP 47 tag such as en or pt-BR: language, optional script and region.",
        pattern=r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$",
    ),
]
Semver = Annotated[
    str,
    Field(
        title="Version",
        description="A semantic version such as 1.2.0.",
        max_length=64,
        pattern=rf"^{_CORE}\.{_CORE}\.{_CORE}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$",
    ),
]
AnyId = Annotated[
    str,
    _id(
        "Any id",
        "Lower-case words joined by hyphens (concepts: by underscores), 3 to 64 characters.",
        "[-_]",
    ),
]
Date = Annotated[
    str,
    Field(
        title="Date",
        description="A calendar day written YYYY-MM-DD.",
        pattern=r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
        json_schema_extra={"format": "date"},
    ),
]
Spdx = Annotated[
    str,
    Field(
        title="Licence id",
        description="A short SPDX licence identifier such as CC-BY-4.0.",
        max_length=64,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.+-]*$",
    ),
]
Interface = Annotated[
    str,
    Field(max_length=200, pattern=r"^[a-z][a-z0-9-]* (GET|POST|PUT|PATCH|DELETE) /[!-~]*$"),
]

# -- words to choose from, numbers and lists ----------------------------------------------------

Status = Annotated[
    Literal["planned", "authored"],
    Field(
        title="Status",
        description="authored: the material exists. planned: only this brief exists.",
    ),
]
Level = Annotated[
    Literal["intro", "core", "advanced"],
    Field(title="Level", description="How much the learner needs to know already."),
]
Colour = Annotated[
    str,
    Field(
        title="Colour",
        description="A colour as # and six hex digits, such as #8a3b12.",
        pattern=r"^#[0-9a-fA-F]{6}$",
    ),
]
Picture = Annotated[
    str,
    Field(
        title="Picture",
        description="A file of content/media/, written media/NAME.",
        max_length=130,
        pattern=r"^media/[A-Za-z0-9_][A-Za-z0-9._-]*$",
    ),
]
Command = Annotated[
    str,
    Field(
        title="Command",
        description="What to type in a terminal; more than one line is allowed.",
        min_length=1,
        max_length=600,
    ),
]
_Kib = Annotated[int, Field(ge=1, le=65536)]
_Distinct: Final[FieldInfo] = Field(json_schema_extra={"uniqueItems": True})
Ids20 = Annotated[tuple[Id, ...], Field(max_length=20), _Distinct]
SomeIds20 = Annotated[tuple[Id, ...], Field(min_length=1, max_length=20), _Distinct]
SomeIds60 = Annotated[tuple[Id, ...], Field(min_length=1, max_length=60), _Distinct]
Texts6 = Annotated[tuple[Text, ...], Field(min_length=1, max_length=6), _Distinct]
Texts12 = Annotated[tuple[Text, ...], Field(min_length=1, max_length=12), _Distinct]
Texts20 = Annotated[tuple[Text, ...], Field(min_length=1, max_length=20), _Distinct]


class Reference(Model):
    """A source outside the course."""

    model_config = ConfigDict(title="Reference")

    title: Text = Field(description="What the link leads to.")
    url: HttpsUrl = Field(description="Where it is.")


class Check(Model):
    """One open reasoning question with its answer."""

    model_config = ConfigDict(title="Open question")

    prompt: LongText = Field(description="The question.")
    answer: Prose = Field(description="An answer that a reader can compare with.")


References = Annotated[tuple[Reference, ...], Field(max_length=20)]

# -- course.yaml, phase.yaml ------------------------------------------------------------------


class Part(Model):
    """A part of the course."""

    id: Id = Field(description="Id of the part.")
    title: Title = Field(description="Name of the part.")
    description: Text = Field(description="What the part leads to.")


class Thing(Model):
    """Something that a learner needs at hand."""

    id: Id = Field(description="How lessons, phases and projects name it.")
    title: Text = Field(description="How the pages name it.")


class Pair(Model):
    """A colour on light pages and on dark ones."""

    model_config = ConfigDict(title="Pair of colours")

    light: Colour = Field(description="On light pages.")
    dark: Colour = Field(description="On dark pages.")


class Colours(Model):
    """The colours of the pages; what is absent is the tool's own."""

    accent: Maybe[Pair] = Field(None, description="Links, buttons and marks.")
    paper: Maybe[Pair] = Field(None, description="The page.")
    sheet: Maybe[Pair] = Field(None, description="Cards and tables on the page.")
    ink: Maybe[Pair] = Field(None, description="Text.")


class Hero(Model):
    """The picture of the home page."""

    image: Picture = Field(description="The picture, in content/media/.")
    alt: LongText = Field(description="What the picture shows, for those who cannot see it.")
    caption: Maybe[LongText] = Field(None, description="The text below the picture.")


class Limits(Model):
    """Size budgets, checked in every build."""

    lesson_kib: _Kib = Field(
        LESSON_KIB, alias="lessonKiB", description="Largest lesson.md, in KiB; 64 when absent."
    )
    media_kib: _Kib = Field(
        MEDIA_KIB, alias="mediaKiB", description="Largest media file, in KiB; 512 when absent."
    )
    page_kib: _Kib = Field(
        PAGE_KIB, alias="pageKiB", description="Largest HTML page, in KiB; 256 when absent."
    )


class Course(Model):
    """course.yaml: what the course is called, its version, licence, parts and budgets."""

    model_config = ConfigDict(title="Course")

    schema_version: Literal[1] = Field(description="Version of this file format.")
    id: Id = Field(description="Id of the course.")
    title: Title = Field(description="Name of the course.")
    summary: Summary = Field(description="What the course is about, in one line.")
    lang: LanguageTag = Field(description="Language in which the sources are written.")
    version: Semver = Field(description="The course's own version; shown as the revision.")
    updated: Date = Field(description="Day of this version; the only date in the output.")
    licence: Spdx = Field(description="Licence of the content.")
    repository: Maybe[HttpsUrl] = Field(
        None, description="Where the sources live; used for edit links."
    )
    base_url: Maybe[BaseUrl] = Field(
        None,
        description="Where the site lives; used for canonical links, the site map and the feed.",
    )
    parts: tuple[Part, ...] = Field(
        min_length=1, max_length=20, description="The parts of the course, in order."
    )
    languages: Annotated[tuple[LanguageTag, ...], _Distinct] = Field(
        (),
        max_length=50,
        description="Languages whose translations may lie beside the lessons; they are kept and "
        "not shown yet.",
    )
    equipment: tuple[Thing, ...] = Field(
        (),
        max_length=60,
        description="What learners may need, in the words of the course; none is always known.",
    )
    hero: Maybe[Hero] = Field(None, description="The picture of the home page.")
    run_in_page: bool = Field(
        False,
        description="Whether the Python of the lessons runs in the page; puts a Python of 14 MB "
        "into the site.",
    )
    social: Maybe[Picture] = Field(
        None,
        description="The picture that others show with a link to the site: PNG or JPEG, best "
        "1200 by 630 pixels.",
    )
    logo: Maybe[Picture] = Field(
        None, description="The mark beside the name of the course: an SVG in content/media/."
    )
    colours: Maybe[Colours] = Field(
        None, description="Colours of the pages, each for light and for dark pages."
    )
    limits: Limits = Field(Limits(), description="Size budgets, checked in every build.")


class Phase(Model):
    """phase.yaml: a group of lessons with one outcome and one checkpoint."""

    model_config = ConfigDict(title="Phase")

    id: Id = Field(description="Id of the phase.")
    title: Title = Field(description="Name of the phase.")
    part: Id = Field(description="Part of the course, from course.yaml.")
    summary: Summary = Field(description="What the phase is about, in one line.")
    outcome: Text = Field(description="What the learner can do after the phase.")
    prerequisites: Ids20 = Field((), description="Phases to finish first.")
    equipment: Ids20 = Field(
        (), description="What the learner needs at hand, by the ids of course.yaml."
    )
    checkpoint: Check = Field(description="The question that closes the phase.")
    projects: Ids20 = Field((), description="Projects that use the phase.")
    references: References = Field((), description="Sources outside the course.")


# -- lesson.md, quiz.yaml ---------------------------------------------------------------------


class LessonFrontMatter(Model):
    """Front matter of lesson.md: the short facts of one lesson, authored or planned."""

    model_config = ConfigDict(title="Lesson front matter")

    id: Id = Field(description="Id of the lesson; the name of its page and of its resource.")
    title: Title = Field(description="Name of the lesson, unique in its phase.")
    status: Status = Field(
        description="Always written out: authored when the material exists, planned when only "
        "this brief does."
    )
    summary: Summary = Field(description="What the lesson is about, in one line.")
    objectives: Annotated[tuple[Objective, ...], _Distinct] = Field(
        min_length=1, max_length=6, description="What the learner can do afterwards."
    )
    prerequisites: Ids20 = Field((), description="Lessons to finish first.")
    minutes: Maybe[int] = Field(
        None, ge=1, le=240, description="Minutes a learner needs; an estimate when planned."
    )
    level: Maybe[Level] = Field(None, description="How much the learner needs to know already.")
    equipment: Ids20 = Field(
        (), description="What the learner needs at hand, by the ids of course.yaml."
    )
    concepts: Annotated[tuple[ConceptId, ...], _Distinct] = Field(
        (), max_length=9, description="Concepts of concepts.yaml that the lesson teaches."
    )
    tags: Annotated[tuple[Id, ...], _Distinct] = Field(
        (), max_length=8, description="Free words for search."
    )
    evidence: Maybe[Texts6] = Field(
        None, description="What the learner keeps as proof of the work."
    )
    check: Maybe[Check] = Field(None, description="One open reasoning question.")
    references: References = Field((), description="Sources outside the course.")
    aliases: Ids20 = Field((), description="Earlier ids of this lesson; each stays readable.")
    interfaces: Annotated[tuple[Interface, ...], _Distinct] = Field(
        (),
        max_length=20,
        description='Routes of services that the lesson uses, written "SERVICE GET /path".',
    )
    review: Maybe[Literal["none", "editorial", "expert"]] = Field(
        None, description="Who looked at it: nobody, an editor, or an expert of the field."
    )
    updated: Maybe[Date] = Field(
        None, description="Day on which the lesson last changed in a way that readers notice."
    )
    tracking: Maybe[HttpsUrl] = Field(
        None, description="Where the plan of a planned lesson is discussed."
    )


class Quiz(Model):
    """quiz.yaml: formative questions of one lesson; answers are public."""

    model_config = ConfigDict(title="Quiz")

    questions: tuple[Question, ...] = Field(
        min_length=1, max_length=12, description="The questions, in order."
    )


class Question(Model):
    """One formative question."""

    model_config = ConfigDict(title="Question")

    id: Id = Field(description="Id of the question, unique in the lesson and stable.")
    stage: Literal["before", "during", "after"] = Field(
        "after",
        description="When to ask: before, during or after the lesson; after when absent.",
    )
    kind: Literal["single", "multiple", "numeric"] = Field(
        "single",
        description="single: one option is right. multiple: one or more. numeric: a number. "
        "single when absent.",
    )
    prompt: Text = Field(description="The question.")
    options: tuple[Option, ...] = Field(
        (),
        min_length=2,
        max_length=6,
        description="Answers to choose from; for single and multiple.",
    )
    value: Maybe[float] = Field(None, description="The right number; for numeric.")
    tolerance: Maybe[float] = Field(
        None, ge=0, description="Largest accepted distance from the value; for numeric."
    )
    unit: Maybe[Text] = Field(None, description="Unit of the value; for numeric.")
    explanation: Explanation = Field(description="Why the answer is right.")
    objective: Maybe[int] = Field(
        None,
        ge=1,
        le=6,
        description="Number of the objective that the question tests, counted from 1.",
    )
    shuffle: bool = Field(
        True, description="Whether the options may change places; true when absent."
    )


class Option(Model):
    """One answer to choose from."""

    model_config = ConfigDict(title="Option")

    text: Text = Field(description="The answer to choose.")
    correct: bool = Field(False, description="Whether this answer is right; false when absent.")
    why: Maybe[Text] = Field(None, description="Why this answer is right or wrong.")


# -- the block trace of a lesson --------------------------------------------------------------

Name = Annotated[
    str,
    Field(
        title="Name",
        description="Lower-case letters, digits and _, beginning with a letter.",
        max_length=40,
        pattern=r"^[a-z][a-z0-9_]*$",
    ),
]
Label = Annotated[str, _line("Label", "One line of 1 to 60 characters.", 1, 60)]
Formula = Annotated[
    str | float,
    Field(
        title="Formula",
        description="A number, or a formula over columns, sliders and values.",
    ),
]


class TraceX(Model):
    """What runs along the horizontal axis: a formula over the file, or evenly spaced numbers."""

    model_config = ConfigDict(
        title="Horizontal axis",
        json_schema_extra={
            "oneOf": [{"required": ["y"]}, {"required": ["from", "to", "step"]}],
        },
    )

    label: Label = Field(description="What the axis shows.")
    unit: Maybe[Label] = Field(None, description="Its unit.")
    y: Maybe[Formula] = Field(None, description="A column of the file, or a formula over them.")
    from_: Maybe[float] = Field(None, alias="from", description="First number.")
    to: Maybe[float] = Field(None, description="Last number.")
    step: Maybe[float] = Field(None, gt=0, description="Distance from one number to the next.")


class TraceLine(Model):
    """One line of a panel; lines of one label share a colour and a switch."""

    label: Label = Field(description="Name of the line.")
    y: Formula = Field(description="Its height in each row.")
    x: Maybe[Formula] = Field(None, description="Its own place along the horizontal axis.")
    style: Maybe[Literal["line", "dashed", "points", "steps", "area"]] = Field(
        None, description="How it is drawn; line when absent."
    )


class TracePanel(Model):
    """A plot with one vertical axis."""

    label: Label = Field(description="What the vertical axis shows.")
    unit: Maybe[Label] = Field(None, description="Its unit.")
    range: Maybe[tuple[float, ...]] = Field(
        None, min_length=2, max_length=2, description="Lowest and highest number."
    )
    lines: tuple[TraceLine, ...] = Field(min_length=1, max_length=6, description="The lines.")


class TraceSlider(Model):
    """A number that the reader sets."""

    name: Name = Field(description="Its name in formulas.")
    label: Label = Field(description="What the reader sets.")
    unit: Maybe[Label] = Field(None, description="Its unit.")
    from_: float = Field(alias="from", description="Lowest number.")
    to: float = Field(description="Highest number.")
    step: float = Field(gt=0, description="Distance from one number to the next.")
    start: float = Field(description="Number at first.")


class TraceMark(Model):
    """A vertical line at one place of the horizontal axis."""

    label: Label = Field(description="What is there.")
    at: Formula = Field(description="Where.")


class TraceNumber(Model):
    """A result below the plot."""

    label: Label = Field(description="What the number says.")
    y: Formula = Field(description="The number.")
    unit: Maybe[Label] = Field(None, description="Its unit.")
    digits: Maybe[int] = Field(None, ge=0, le=6, description="Decimals; 1 when absent.")


class Trace(Model):
    """A fenced block trace: a plot with its data, and what the reader can move in it."""

    model_config = ConfigDict(title="Trace")

    caption: LongText = Field(description="What to see, and where the data come from.")
    alt: LongText = Field(description="What the plot shows, for those who do not see it.")
    file: Maybe[Text] = Field(None, description="data/NAME.csv in the folder of the lesson.")
    x: TraceX = Field(description="The horizontal axis.")
    panels: tuple[TracePanel, ...] = Field(
        min_length=1, max_length=4, description="The plots, from top to bottom."
    )
    equal: bool = Field(False, description="Whether a unit is equally long on both axes.")
    sliders: tuple[TraceSlider, ...] = Field((), max_length=3, description="What can be moved.")
    values: dict[str, Formula] = Field({}, description="Named results, each from those above it.")
    marks: tuple[TraceMark, ...] = Field((), max_length=6, description="Vertical lines.")
    numbers: tuple[TraceNumber, ...] = Field((), max_length=6, description="Results.")


# -- pathways, roles, domains -----------------------------------------------------------------


class Step(Model):
    """Either a whole phase, or single lessons with an optional note."""

    model_config = ConfigDict(
        title="Step",
        json_schema_extra={
            "oneOf": [{"required": ["phase"]}, {"required": ["lessons"]}],
            "dependentRequired": {"note": ["lessons"]},
        },
    )

    phase: Maybe[Id] = Field(None, description="A whole phase.")
    lessons: Maybe[SomeIds60] = Field(None, description="Single lessons.")
    note: Maybe[Text] = Field(None, description="Why these lessons, here.")


class Capstone(Model):
    """The project that closes a pathway."""

    project: Id = Field(description="Project that closes the pathway.")
    assessment: LongText = Field(description="How the result is judged.")
    evidence: Texts12 = Field(description="What the learner shows.")


class Pathway(Model):
    """pathways/*.yaml: an ordered way through the lessons for one kind of learner."""

    model_config = ConfigDict(title="Pathway")

    id: Id = Field(description="Id of the pathway.")
    title: Title = Field(description="Name of the pathway.")
    summary: Text = Field(description="What the pathway is about, in one line.")
    audience: LongText = Field(description="For whom it is.")
    outcome: LongText = Field(description="What the learner can do at the end.")
    first_artifact: LongText = Field(description="The first thing that the learner makes.")
    study_advice: LongText = Field(description="How to study it: pace, order, habits.")
    requires: Ids20 = Field((), description="Pathways to finish first.")
    steps: tuple[Step, ...] = Field(
        min_length=1, max_length=60, description="Phases and lessons, in order."
    )
    capstone: Maybe[Capstone] = Field(None, description="The project that closes the pathway.")


class Milestone(Model):
    """A point of progress with something to show; names lessons, phases or both."""

    model_config = ConfigDict(
        title="Milestone",
        json_schema_extra={"anyOf": [{"required": ["lessons"]}, {"required": ["phases"]}]},
    )

    title: Text = Field(description="Name of the milestone.")
    lessons: Maybe[SomeIds60] = Field(None, description="Lessons that lead to it.")
    phases: Maybe[SomeIds20] = Field(None, description="Phases that lead to it.")
    deliverable: Text = Field(description="What exists then.")
    criteria: Texts12 = Field(description="How the deliverable is judged.")


class StartingCheck(Model):
    """A question that shows where to start."""

    phase: Id = Field(description="Where to start if the answer is no.")
    question: Text = Field(description="What to ask yourself.")


class Role(Model):
    """roles/*.yaml: a job that the course prepares for, told as a route through pathways."""

    model_config = ConfigDict(title="Role")

    id: Id = Field(description="Id of the role.")
    title: Title = Field(description="Name of the role.")
    headline: Text = Field(description="The role in one sentence.")
    summary: Text = Field(description="What the route is about, in one line.")
    background: LongText = Field(description="What helps to have before.")
    responsibilities: Texts20 = Field(description="What a person in this role does.")
    skills: Texts20 = Field(description="What a person in this role can do.")
    pathways: SomeIds20 = Field(description="Pathways that lead there.")
    default_pathway: Id = Field(description="The pathway to start with; one of the listed.")
    milestones: tuple[Milestone, ...] = Field(
        min_length=1, max_length=12, description="Points of progress, in order."
    )
    starting_checks: tuple[StartingCheck, ...] = Field(
        min_length=1, max_length=12, description="Questions that show where to start."
    )
    work_example: Prose = Field(description="A day or a task of this role.")
    portfolio: LongText = Field(description="What to show for it.")
    readiness: LongText = Field(description="How to know that you are ready.")
    review_questions: Texts20 = Field(
        description="Questions that a reviewer of your portfolio would ask."
    )
    scope_note: LongText = Field(description="What the route does not cover.")


class Domain(Model):
    """domains/*.yaml: a field of knowledge that joins pathways and roles."""

    model_config = ConfigDict(title="Domain")

    id: Id = Field(description="Id of the domain.")
    title: Title = Field(description="Name of the domain.")
    headline: Text = Field(description="The domain in one sentence.")
    summary: Text = Field(description="What belongs to it, in one line.")
    skills: Texts20 = Field(description="What a person who knows the domain can do.")
    artifact: Text = Field(description="The typical thing that is made in it.")
    pathways: SomeIds20 = Field(description="Pathways of the domain.")
    default_pathway: Id = Field(description="The pathway to start with; one of the listed.")
    roles: Ids20 = Field((), description="Roles that need the domain.")


# -- projects ---------------------------------------------------------------------------------


class Stage(Model):
    """One step of the work."""

    model_config = ConfigDict(title="Stage")

    id: Id = Field(description="Id of the stage, unique in the project.")
    title: Title = Field(description="Name of the stage.")
    goal: LongText = Field(description="What the stage is for.")
    lessons: Ids20 = Field(description="Required lessons that the stage uses.")
    command: Maybe[Command] = Field(None, description="How to run or test the stage.")
    expected: Prose = Field(description="What success looks like.")
    evidence: Prose = Field(description="What to keep.")
    diagnosis: Prose = Field(description="What a usual failure looks like and means.")


class Criterion(Model):
    """One line of the rubric."""

    model_config = ConfigDict(title="Criterion")

    id: Id = Field(description="Id of the criterion, unique in the project.")
    criterion: Text = Field(description="What is judged.")
    levels: tuple[RubricLevel, ...] = Field(
        min_length=2, max_length=4, description="What each score looks like."
    )


class RubricLevel(Model):
    """What earns one score."""

    model_config = ConfigDict(title="Rubric level")

    score: int = Field(ge=0, le=3, description="0 is missing, 3 is excellent.")
    description: LongText = Field(description="What earns this score.")


class Preparation(Model):
    """A command to run once before the first stage of a project."""

    label: Text = Field(description="What the command does.")
    command: Command = Field(description="What to type.")


class Project(Model):
    """projects/<id>/project.yaml: an integration project in stages, with a rubric."""

    model_config = ConfigDict(title="Project")

    id: Id = Field(description="Id of the project; the name of its folder.")
    title: Title = Field(description="Name of the project.")
    summary: Text = Field(description="What is built, in one line.")
    status: Status = Field(
        description="Always written out: authored when the material exists, planned when only "
        "this brief does."
    )
    pathway: Id = Field(description="Pathway that the project belongs to.")
    equipment: Ids20 = Field(
        (), description="What the learner needs at hand, by the ids of course.yaml."
    )
    required_lessons: SomeIds60 = Field(description="Lessons to finish first.")
    stages: tuple[Stage, ...] = Field(
        (), min_length=1, max_length=12, description="The work, in order."
    )
    rubric: tuple[Criterion, ...] = Field(
        (), min_length=1, max_length=12, description="How the result is judged."
    )
    prepare: tuple[Preparation, ...] = Field(
        (), max_length=12, description="Commands to run once before the first stage."
    )


# -- concepts.yaml, retired.yaml, ui/<lang>.yaml ----------------------------------------------


class Concept(Model):
    """One word of the shared vocabulary."""

    model_config = ConfigDict(title="Concept")

    id: ConceptId = Field(description="Id of the concept.")
    title: Title = Field(description="Name of the concept.")
    description: LongText = Field(description="What it means.")


class RetiredEntry(Model):
    """One id that ended."""

    model_config = ConfigDict(title="Retired id")

    id: AnyId = Field(description="The id that ended.")
    replaced_by: AnyId | None = Field(description="The id to use now, or null when there is none.")
    since: Semver = Field(description="Course version without the id.")
    reason: Text = Field(description="Why it ended.")


class BlockWords(Model):
    """The word before the colon in a block heading."""

    idea: Maybe[Word] = Field(None, description="Block that explains.")
    example: Maybe[Word] = Field(None, description="Block that shows.")
    predict: Maybe[Word] = Field(None, description="Block that asks before it shows.")
    exercise: Maybe[Word] = Field(None, description="Block that the learner does.")
    solution: Maybe[Word] = Field(None, description="Block that answers the exercise.")
    diagnose: Maybe[Word] = Field(None, description="Block about a usual mistake.")
    recap: Maybe[Word] = Field(None, description="Block that sums up.")
    references: Maybe[Word] = Field(None, description="Block of sources.")


class InterfaceWords(Model):
    """ui/<lang>.yaml: what a course says otherwise than the tool, or in another language.

    The words of the pages are in ``model_extra``.
    """

    model_config = ConfigDict(title="Interface words", extra="allow")
    __pydantic_extra__: dict[str, Word] = Field(init=False)

    kinds: Maybe[BlockWords] = Field(
        None, description="The word before the colon in a block heading."
    )


Concepts = Annotated[
    tuple[Concept, ...],
    Field(
        title="Concepts",
        description="concepts.yaml: the ideas of the course, by which lessons say what they teach.",
        min_length=1,
        max_length=100,
    ),
]
Synonyms = Annotated[
    tuple[Annotated[tuple[Word, ...], Field(min_length=2, max_length=12), _Distinct], ...],
    Field(
        title="Synonyms",
        description="synonyms.yaml: words and phrases by which search finds one another's lessons.",
        max_length=200,
    ),
]
RetiredIds = Annotated[
    tuple[RetiredEntry, ...],
    Field(
        title="Retired ids",
        description="retired.yaml: ids that ended, with a successor or without.",
    ),
]

SOURCES: Final[dict[str, Any]] = {
    "course": Course,
    "phase": Phase,
    "lesson": LessonFrontMatter,
    "quiz": Quiz,
    "trace": Trace,
    "pathway": Pathway,
    "role": Role,
    "domain": Domain,
    "project": Project,
    "concepts": Concepts,
    "retired": RetiredIds,
    "synonyms": Synonyms,
    "ui": InterfaceWords,
}
"""The model of every kind of source, by the name of its schema."""
