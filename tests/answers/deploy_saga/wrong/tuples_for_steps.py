# wrong: hands over tuples
# diagnosed: does not give SagaSteps
def tuple_of(*parts):
    return parts


def deploy_saga(cloud, app):
    return [
        tuple_of(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key),
        ),
        tuple_of(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: cloud.remove_container(app, key=key),
        ),
        tuple_of(
            "configure_route",
            lambda key: cloud.configure_route(app, key=key),
            lambda key: cloud.delete_route(app, key=key),
        ),
    ]
