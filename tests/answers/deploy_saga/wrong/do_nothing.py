# wrong: no steps
# diagnosed: the steps are not the three that were asked for
def deploy_saga(cloud, app):
    return []
