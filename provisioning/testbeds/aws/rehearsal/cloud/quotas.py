"""GetServiceQuota as AWS answers it for the vCPUs of instances, which moto has no quota of."""

from __future__ import annotations

from typing import Any

from moto.servicequotas.models import ServiceQuotasBackend

# running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances, in vCPUs: an account on which every preset fits
EC2_QUOTAS = {"L-1216C47A": 512.0}
_moto_get_service_quota = ServiceQuotasBackend.get_service_quota


def install() -> None:
    """Puts this GetServiceQuota in the place of moto's."""

    def get_service_quota(self: ServiceQuotasBackend, service_code: str, quota_code: str) -> dict[str, Any]:
        if service_code == "ec2" and quota_code in EC2_QUOTAS:
            return {
                "ServiceCode": service_code,
                "QuotaCode": quota_code,
                "Value": EC2_QUOTAS[quota_code],
                "Unit": "None",
            }
        return _moto_get_service_quota(self, service_code, quota_code)

    ServiceQuotasBackend.get_service_quota = get_service_quota  # type: ignore[method-assign]
