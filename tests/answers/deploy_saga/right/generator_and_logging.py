# right: a generator of steps, each of which says what it does and lets every error go on
import logging

from labkit import SagaStep

logger = logging.getLogger("deploy")


def told(call, app):
    def act(key):
        logger.info("%s %s", call.__name__, app)
        try:
            answer = call(app, key=key)
        except Exception:
            logger.exception("%s %s", call.__name__, app)
            raise
        else:
            logger.info("%s", answer)
            return answer

    return act


def steps(cloud, app):
    opposite = {"create": "delete", "deploy": "remove", "configure": "delete"}
    for what, thing in (word.split("_") for word in ("create_namespace", "deploy_container", "configure_route")):
        do, undo = getattr(cloud, f"{what}_{thing}"), getattr(cloud, f"{opposite[what]}_{thing}")
        yield SagaStep(f"{what}_{thing}", told(do, app), told(undo, app))


def deploy_saga(cloud, app):
    return list(steps(cloud, app))
