# wrong: the undo is asked for under the key of the action
# diagnosed: a key of its own
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key.replace(":undo", ":do")),
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
