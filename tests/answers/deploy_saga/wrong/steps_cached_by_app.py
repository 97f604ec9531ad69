# wrong: steps that were once built for an application are given again, whatever the cloud
# diagnosed: acts on another cloud
from labkit import SagaStep, Cloud, TransientError, TerminalError
import functools, threading

KEPT = {}
def deploy_saga(cloud, app):
    if app not in KEPT:
        KEPT[app] = build(cloud, app)
    return KEPT[app]

def build(cloud, app):
    return [
        SagaStep("create_namespace", lambda key: cloud.create_namespace(app, key=key), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", lambda key: cloud.deploy_container(app, key=key), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", lambda key: cloud.configure_route(app, key=key), lambda key: cloud.delete_route(app, key=key)),
    ]
