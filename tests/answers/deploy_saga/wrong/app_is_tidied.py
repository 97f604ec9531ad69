# wrong: the name of the application is tidied up
# diagnosed: acts on another application
from labkit import SagaStep, Cloud, TransientError, TerminalError
import functools, threading

def deploy_saga(cloud, app):
    app = app.strip().lower()
    return [
        SagaStep("create_namespace", lambda key: cloud.create_namespace(app, key=key), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", lambda key: cloud.deploy_container(app, key=key), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", lambda key: cloud.configure_route(app, key=key), lambda key: cloud.delete_route(app, key=key)),
    ]
