# right: the application is bound first, the key comes by place
from functools import partial

from labkit.saga import SagaStep


def deploy_saga(cloud, app):
    pairs = (
        (cloud.create_namespace, cloud.delete_namespace),
        (cloud.deploy_container, cloud.remove_container),
        (cloud.configure_route, cloud.delete_route),
    )
    return [SagaStep(do.__name__, partial(do, app), partial(undo, app)) for do, undo in pairs]
