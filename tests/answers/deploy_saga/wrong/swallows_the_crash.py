# wrong: every error of a step, Ctrl-C too, is printed
# diagnosed: catches BaseException
from labkit import SagaStep


def never(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except BaseException as error:
            return print(error)

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", never(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", never(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", never(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
