"""Tasks of the social service."""

from retry_guard_sandbox.tasks._intended import Intended, Made, intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

_RELEASE = {"account": "acme", "text": "Version 2.4 is out."}
_RELEASE_STEP = Step(
    "create_post",
    _RELEASE,
    reworded={"text": "Version 2.4  is out.\n"},
    twin={"text": "Version 2.5 is out."},
)
_TALK = {"account": "acme", "text": "Our talk starts at noon."}
_TALK_STEP = Step(
    "create_post",
    _TALK,
    reworded={"text": " Our talk starts at noon."},
    twin={"text": "Our talk starts at two."},
)
_THANKS = {"account": "acme", "to": "kim", "text": "Thank you for the report."}
_BIO = {"account": "acme", "bio": "We make tools."}

TASKS = (
    Task(
        name="post_release",
        service="social",
        prompt="Post from the account acme: Version 2.4 is out.",
        steps=(_RELEASE_STEP,),
        intended=intended("create_post", _RELEASE),
    ),
    Task(
        name="post_two",
        service="social",
        prompt="Make two posts from the account acme: 'Version 2.4 is out.' and 'Our talk starts "
        "at noon.'",
        steps=(_RELEASE_STEP, _TALK_STEP),
        intended=(*intended("create_post", _RELEASE), *intended("create_post", _TALK)),
    ),
    Task(
        name="thank_by_message",
        service="social",
        prompt="Send kim a direct message from the account acme: Thank you for the report.",
        steps=(
            Step(
                "send_dm",
                _THANKS,
                reworded={"to": "Kim", "text": "Thank you  for the report."},
                twin={"to": "kim_b"},
            ),
        ),
        intended=intended("send_dm", _THANKS),
    ),
    Task(
        name="post_and_tell",
        service="social",
        prompt="Post from the account acme 'Our talk starts at noon.', then send the id of the "
        "post to lou in a direct message, and nothing else in it.",
        steps=(
            _TALK_STEP,
            Step(
                "send_dm",
                {"account": "acme", "to": "lou", "text": Ref(0)},
                reworded={"to": "LOU"},
                twin={"to": "louis"},
            ),
        ),
        intended=(
            *intended("create_post", _TALK),
            Intended(tool="send_dm", identity={"account": "acme", "to": "lou", "text": Made(0)}),
        ),
    ),
    Task(
        name="new_bio_and_post",
        service="social",
        prompt="Set the bio of the account acme to 'We make tools.', then post: Version 2.4 "
        "is out.",
        steps=(Step("set_bio", _BIO), _RELEASE_STEP),
        intended=(*intended("set_bio", _BIO), *intended("create_post", _RELEASE)),
    ),
)
