#include "domain/container_start/identity.hpp"

#include "domain/container_start/runtime_support.hpp"

namespace tessera {

std::string_view identity_name(Identity identity) {
    return identity == Identity::nri ? "nri" : "kubelet";
}

Identity choose_identity(std::string_view configured, bool has_nri, std::string_view runtime) {
    if (configured != "auto")
        return configured == identity_name(Identity::nri) ? Identity::nri : Identity::kubelet;
    return has_nri && check_cdi_from_nri_of(runtime) ? Identity::nri : Identity::kubelet;
}

}  // namespace tessera
