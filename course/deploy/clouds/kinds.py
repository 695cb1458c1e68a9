"""The systems that one of Dask's deployers starts clusters on: each by its name for `deploy`, with its deployer."""

from course.deploy.clouds.deployer import Deployer
from course.deploy.clouds.gateway import GatewayDeployer
from course.deploy.clouds.kubernetes import KubernetesDeployer
from course.deploy.clouds.machines.aws import AwsDeployer
from course.deploy.clouds.machines.azure import AzureDeployer
from course.deploy.clouds.machines.gcp import GcpDeployer

#: kind -> its deployer; what it needs is in the extra of that name.
CLOUDS: dict[str, type[Deployer]] = {
    "kubernetes": KubernetesDeployer,
    "gateway": GatewayDeployer,
    "aws": AwsDeployer,
    "gcp": GcpDeployer,
    "azure": AzureDeployer,
}
