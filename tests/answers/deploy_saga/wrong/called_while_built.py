# wrong: the calls are made while the steps are built
# diagnosed: calls the cloud while the steps are built
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", print, lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", print, lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", print(cloud.create_namespace(app), cloud.deploy_container(app), cloud.configure_route(app)), None),
    ]
