# wrong: tries until it works
# diagnosed: never ends
from labkit import SagaStep


def until_it_works(call, app):
    def act(key):
        while True:
            try:
                return call(app, key=key)
            except Exception as error:
                print(f"again: {error}")

    return act


def deploy_saga(cloud, app):
    steps = [("create_namespace", cloud.delete_namespace), ("deploy_container", cloud.remove_container), ("configure_route", cloud.delete_route)]
    return [SagaStep(name, until_it_works(getattr(cloud, name), app), until_it_works(undo, app)) for name, undo in steps]
