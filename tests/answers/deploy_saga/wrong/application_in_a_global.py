# wrong: the application is kept in a global: a second deployment changes it
# diagnosed: acts on another application
from labkit import SagaStep

CURRENT = {}


def deploy_saga(cloud, app):
    CURRENT["app"] = app

    def call(name):
        return lambda key: getattr(cloud, name)(CURRENT["app"], key=key)

    return [
        SagaStep("create_namespace", call("create_namespace"), call("delete_namespace")),
        SagaStep("deploy_container", call("deploy_container"), call("remove_container")),
        SagaStep("configure_route", call("configure_route"), call("delete_route")),
    ]
