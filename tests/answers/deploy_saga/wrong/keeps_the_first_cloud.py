# wrong: calls the first cloud that it was ever given
# diagnosed: acts on another cloud
FIRST = []
from labkit import SagaStep, TransientError
def deploy_saga(cloud, app):
    FIRST.append(cloud)
    cloud = FIRST[0]
    def step(name, undo):
        def do(key): return getattr(cloud, name)(app, key=key)
        def un(key): return getattr(cloud, undo)(app, key=key)
        return SagaStep(name, do, un)
    return [step("create_namespace", "delete_namespace"), step("deploy_container", "remove_container"), step("configure_route", "delete_route")]
