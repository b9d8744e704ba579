"""Tasks of the deploy service."""

from retry_guard_sandbox.tasks._intended import Intended, intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

_SHOP = {"service": "shop", "version": "2.4.1", "note": "Fixes the basket"}
_MAILER = {"service": "mailer", "version": "0.7.3", "note": "New templates"}
_FLAG = {"service": "shop", "flag": "new-basket", "state": "on"}

_DEPLOY_SHOP = Step(
    "trigger_deploy",
    _SHOP,
    reworded={"service": "Shop", "note": "fixes the basket"},
    twin={"version": "2.4.10"},
)
_DEPLOY_MAILER = Step(
    "trigger_deploy", _MAILER, reworded={"service": "mailer "}, twin={"service": "mailer-eu"}
)

TASKS = (
    Task(
        name="deploy_shop",
        service="deploy",
        prompt="Deploy version 2.4.1 of the service shop; note: Fixes the basket.",
        steps=(_DEPLOY_SHOP,),
        intended=intended("trigger_deploy", _SHOP, "note"),
    ),
    Task(
        name="deploy_two",
        service="deploy",
        prompt="Deploy version 2.4.1 of the service shop (note: Fixes the basket), then version "
        "0.7.3 of the service mailer (note: New templates).",
        steps=(_DEPLOY_SHOP, _DEPLOY_MAILER),
        intended=(
            *intended("trigger_deploy", _SHOP, "note"),
            *intended("trigger_deploy", _MAILER, "note"),
        ),
    ),
    Task(
        name="deploy_tested",
        service="deploy",
        prompt="Deploy the version of the service search that was tested last; note: Weekly.",
        steps=(
            Step("get_service", {"service": "search"}),
            Step(
                "trigger_deploy",
                {"service": "search", "version": Ref(0, ("tested",)), "note": "Weekly"},
                reworded={"note": "weekly"},
                twin={"service": "search-eu"},
            ),
        ),
        intended=(
            Intended(
                tool="trigger_deploy",
                identity={"service": "search", "version": "1.9.0"},
                content={"note": "Weekly"},
            ),
        ),
    ),
    Task(
        name="flag_then_deploy",
        service="deploy",
        prompt="Switch the flag new-basket of the service shop on, then deploy its version 2.4.1; "
        "note: Fixes the basket.",
        steps=(Step("set_flag", _FLAG), _DEPLOY_SHOP),
        intended=(
            *intended("set_flag", _FLAG),
            *intended("trigger_deploy", _SHOP, "note"),
        ),
    ),
)
