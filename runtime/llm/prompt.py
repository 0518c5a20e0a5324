"""Which conversations can be answered at all; pure."""

from collections.abc import Sequence

from runtime.llm.values import Turn
from runtime.web.errors import BadRequest, TooLarge


def check_turns(turns: Sequence[Turn], max_chars: int) -> None:
    """Raise `TooLarge` or `BadRequest` for turns that cannot be answered.

    The length is counted in code points over all messages.
    """
    if sum(len(turn.content) for turn in turns) > max_chars:
        raise TooLarge(
            f"the messages together have more than {max_chars} characters", param="messages"
        )
    if all(turn.role == "system" for turn in turns):
        raise BadRequest("there is no message besides system messages", param="messages")
    if turns[-1].role != "user":
        raise BadRequest("the last message must have the role user", param="messages")
