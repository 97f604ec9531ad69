# wrong: builds the steps and forgets to hand them over
# diagnosed: the steps are not the three that were asked for
from labkit import SagaStep


def deploy_saga(cloud, app):
    steps = []
    for do, undo in (
        (cloud.create_namespace, cloud.delete_namespace),
        (cloud.deploy_container, cloud.remove_container),
        (cloud.configure_route, cloud.delete_route),
    ):
        steps.append(SagaStep(do.__name__, lambda key, do=do: do(app, key=key), lambda key, undo=undo: undo(app, key=key)))
