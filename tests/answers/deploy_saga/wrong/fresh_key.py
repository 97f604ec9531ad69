# wrong: a fresh key for each call
# diagnosed: a key of its own
from uuid import uuid4

from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=uuid4().hex),
            lambda key: cloud.delete_namespace(app, key=uuid4().hex),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=uuid4().hex),
            lambda key: cloud.remove_container(app, key=uuid4().hex),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=uuid4().hex),
            lambda key: cloud.delete_route(app, key=uuid4().hex),
        ),
    ]
