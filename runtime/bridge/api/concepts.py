"""What the coach can say: its concepts, and when each of them applies."""

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.reviews import desk_of
from runtime.bridge.coach.warm.lessons import Lesson
from runtime.bridge.cues.concepts import CONCEPTS, Concept
from runtime.bridge.service import SERVICE
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("coaching")


class LessonRecord(Wire):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None = Field(
        description="its page, from the start of the course, or whole where --course is an "
        "address; null without a course"
    )


class ConceptRecord(Wire):
    """One thing that the coach can ask of a driver."""

    id: str
    title: str
    description: str
    fires_when: str = Field(
        description="the condition as it is evaluated: in_corner and past_apex are flags, brake is "
        "in bar, thr in %, glat in g, v in km/h, to_entry, bz and dz in metres"
    )
    priority: int = Field(ge=0, le=3, description="the highest of a message about it")
    aliases: list[str]
    lesson: LessonRecord = Field(description="where the course teaches it")


class ConceptList(Wire):
    """The concepts in the order in which they are tried: the first that applies counts."""

    concepts: list[ConceptRecord]
    count: int


@routes.get("/coach/concepts")
async def concepts(request: web.Request) -> ConceptList:
    """List what the coach looks for, with the condition of each concept and its lesson."""
    lessons = desk_of(request.app[SERVICE]).lessons
    records = [_record(one, lessons.of(one.id)) for one in CONCEPTS]
    return ConceptList(concepts=records, count=len(records))


def _record(concept: Concept, lesson: Lesson) -> ConceptRecord:
    return ConceptRecord(
        id=concept.id,
        title=concept.title,
        description=concept.description,
        fires_when=concept.fires_when,
        priority=concept.priority,
        aliases=list(concept.aliases),
        lesson=LessonRecord(id=lesson.id, title=lesson.title, url=lesson.url),
    )
