"""The errors of questions to the coach."""

from runtime.web.errors import ApiError


class QuestionsOff(ApiError):
    """This installation answers no questions."""

    status, code = 503, "questions_off"


class TooManyQuestions(ApiError):
    """Too many questions are being answered."""

    status, code = 503, "too_many_questions"

    def __init__(self) -> None:
        super().__init__(
            "too many questions are being answered; try again", headers={"Retry-After": "2"}
        )
