# wrong: uses the lesson's deployment
# diagnosed: imports the solution
from labkit.deployment import STEPS


def deploy_saga(cloud, app):
    return list(STEPS)
