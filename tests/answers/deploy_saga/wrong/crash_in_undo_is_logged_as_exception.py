# wrong: an undo turns KeyboardInterrupt into a time-out
# diagnosed: catches BaseException
def h(f):
    def g(key):
        try: return f(key)
        except KeyboardInterrupt as e: raise TimeoutError("stopped") from e
    return g
from labkit import SagaStep, TransientError
def deploy_saga(cloud, app):
    def step(name, undo):
        def do(key): return getattr(cloud, name)(app, key=key)
        def un(key): return getattr(cloud, undo)(app, key=key)
        return SagaStep(name, do, h(un))
    return [step("create_namespace", "delete_namespace"), step("deploy_container", "remove_container"), step("configure_route", "delete_route")]
