# right: each call is made by a helper thread, and its error comes back to the saga
from concurrent.futures import ThreadPoolExecutor

from labkit import SagaStep


def deploy_saga(cloud, app):
    def in_thread(call):
        def act(key):
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(call, app, key=key).result()

        return act

    def step(name, undo):
        return SagaStep(name, execute=in_thread(getattr(cloud, name)), compensate=in_thread(undo))

    return [
        step("create_namespace", cloud.delete_namespace),
        step("deploy_container", cloud.remove_container),
        step("configure_route", cloud.delete_route),
    ]
