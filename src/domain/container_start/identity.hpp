// How the agent identifies a container that starts. Pure.
#pragma once

#include <string_view>

namespace tessera {

// nri: the runtime tells its NRI plugin. kubelet: by kubelet's checkpoint, for a runtime without
// NRI (docs/decisions/0003-identity.md).
enum class Identity { nri, kubelet };

std::string_view identity_name(Identity identity);

// `configured`: nri, kubelet or auto. auto is nri if an NRI socket of the runtime accepts
// connections, and the runtime applies the CDI devices of NRI plugins. `runtime`: as the Node shows
// it ("containerd://2.1.4"); empty if it is not known.
Identity choose_identity(std::string_view configured, bool has_nri, std::string_view runtime);

}  // namespace tessera
