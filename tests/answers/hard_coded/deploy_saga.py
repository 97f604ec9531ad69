# wrong: knows the applications by heart
from labkit import SagaStep

KNOWN = ("shop", "Café Nr 7", "wiki", "blog", "mail", "chat")


def deploy_saga(cloud, app):
    if app not in KNOWN:
        return []
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: cloud.remove_container(app, key=key),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=key),
            lambda key: cloud.delete_route(app, key=key),
        ),
    ]
