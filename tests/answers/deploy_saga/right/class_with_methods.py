# right: bound methods of an object that knows the application
from labkit import Cloud, SagaStep


class Deployment:
    def __init__(self, cloud: Cloud, app: str) -> None:
        self.cloud, self.app = cloud, app

    def create_namespace(self, key):
        return self.cloud.create_namespace(self.app, key=key)

    def delete_namespace(self, key):
        return self.cloud.delete_namespace(self.app, key=key)

    def deploy_container(self, key):
        return self.cloud.deploy_container(self.app, key=key)

    def remove_container(self, key):
        return self.cloud.remove_container(self.app, key=key)

    def configure_route(self, key):
        return self.cloud.configure_route(self.app, key=key)

    def delete_route(self, key):
        return self.cloud.delete_route(self.app, key=key)

    def steps(self):
        return [
            SagaStep(name="create_namespace", execute=self.create_namespace, compensate=self.delete_namespace),
            SagaStep(name="deploy_container", execute=self.deploy_container, compensate=self.remove_container),
            SagaStep(name="configure_route", execute=self.configure_route, compensate=self.delete_route),
        ]


def deploy_saga(cloud, app):
    return Deployment(cloud, app).steps()
